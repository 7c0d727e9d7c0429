roofline version --verbose
