exec roofline measure here
