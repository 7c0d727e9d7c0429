ulimit -v 100000
roofline version >/dev/null 2>&1 || { echo "this build does not start in so little address space"; exit 77; }
roofline measure --quick --threads 2
