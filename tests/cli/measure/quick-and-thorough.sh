exec roofline measure --quick --thorough
