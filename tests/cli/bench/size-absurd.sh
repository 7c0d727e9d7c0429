roofline bench gemm --n 1000000 -t 1
