roofline doctor | sed -n "s/^[-ok!]* *\(core\|BLAS\|attaching\|machine record\|counters\) .*/\1/p"
