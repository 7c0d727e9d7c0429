exec roofline measure --threads 1,1
