exec roofline measure --threads 1,0
