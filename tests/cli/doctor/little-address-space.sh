# Threads of a BLAS that got no memory for their buffers kept it from ending.
ulimit -v 200000
roofline version >/dev/null 2>&1 || { echo "this build does not start in so little address space"; exit 77; }
timeout 60 roofline doctor >doctor.txt
echo "exit $?"
grep -c '^...[ ]BLAS ' doctor.txt
