# An option may be of one kernel or variant among several, and a list of sizes may meet every precision and variant.
try() {
    roofline bench -q "$@" -t 1 --budget 0.01 >out || echo "failed: $*"
}
try spmv -v csr,sell --sigma 4 --n 20
try gemm triad --k 8 --n 64
try gemm -v naive,vectorised --isa sse2 -p all --sizes 8,16
# A library that was asked for and cannot be loaded is not passed over where 'all' variants may lack.
status=0
roofline bench -q gemm -v all --blas /nowhere/libnone.so --n 64 -t 1 >out 2>err || status=$?
echo "status $status"
cat err
