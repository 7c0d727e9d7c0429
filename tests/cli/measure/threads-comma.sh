exec roofline measure --threads 1,
