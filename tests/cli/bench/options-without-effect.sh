# An option that changes nothing of what would run was meant otherwise: usage errors, each with its reason.
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 5\n' >a.mtx
try() {
    status=0
    roofline bench "$@" -t 1 >/dev/null || status=$?
    test $status -eq 2 || echo "status $status: $*"
}
try triad --blas ./libblas.so
try gemm -v naive,tiled --blas ./libblas.so
try --quick --blas ./libblas.so
try gemm -v naive --isa sse2 --n 8
try spmv --pattern laplace5 --row-entries 4
try spmv -v naive,csr --sigma 4
try spmv --matrix a.mtx --pattern laplace5
try spmv --matrix a.mtx --n 10
try spmv --matrix a.mtx --sizes 10,20
try gemm --n 64 --sizes 64,128
