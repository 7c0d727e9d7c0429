ROOFLINE_ISA=mmx roofline bench triad --n 100 -t 1
