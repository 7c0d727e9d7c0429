roofline bench triad --k 4
