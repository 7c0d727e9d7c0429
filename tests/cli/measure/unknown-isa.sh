ROOFLINE_ISA=sse2,avx1024 roofline measure --quick
