roofline measure --memory 0
