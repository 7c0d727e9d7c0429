# A mask takes the wider kernels away, and the record says so.
ROOFLINE_ISA=sse2 roofline measure -q --quick --budget 0.5 --threads 1 --memory 64M -o m.json >table
grep -c avx table || true
grep -q "left out by the instruction-set mask" m.json && echo "the mask is named"
