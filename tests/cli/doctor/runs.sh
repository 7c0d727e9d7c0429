roofline doctor | sed -n "s/^[-ok!]* *\(core\|BLAS\|machine record\|counters\) .*/\1/p"
