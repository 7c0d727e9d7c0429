roofline bench spmv --matrix nowhere.mtx -t 1
