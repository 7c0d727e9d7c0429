ROOFLINE_ISA=sse2 roofline doctor | grep -A1 "withheld" | sed "s/.*unset/unset/; s/.*masks*/mask/"
