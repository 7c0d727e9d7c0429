roofline run -o - -- true
