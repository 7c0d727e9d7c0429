roofline bench gemm --variant blas --blas /nowhere/libnone.so -t 1
