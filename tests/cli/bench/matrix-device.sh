roofline bench spmv --matrix /dev/zero -t 1 --budget 0.01 -q
