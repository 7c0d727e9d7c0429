roofline measure --quick --threads 1 --memory 1M
