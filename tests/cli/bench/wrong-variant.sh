roofline bench gemm --variant fast
