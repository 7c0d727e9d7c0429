roofline bench gemm --n 0
