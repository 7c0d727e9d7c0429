roofline bench gemm -v blas --blas "" --n 64
