roofline bench --list gemm gem
