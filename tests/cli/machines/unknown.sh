roofline machines 7c-0
