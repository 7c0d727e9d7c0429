roofline bench gemm -t 100000
