exec roofline measure --threads 60000
