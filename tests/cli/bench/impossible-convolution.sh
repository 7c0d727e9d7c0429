roofline bench conv2d --c 6 --groups 4 -t 1
