roofline flops
