cat > a.mtx <<'M'
%%MatrixMarket matrix coordinate real general
3 3 2
1 1 1.0
1 4 2.0
M
roofline bench -q spmv --matrix a.mtx -t 1 --variant naive,csr
