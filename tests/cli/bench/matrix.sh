cat > a.mtx <<'M'
%%MatrixMarket matrix coordinate real symmetric
2 2 2
1 1 1.0
2 1 3
M
roofline bench spmv --matrix a.mtx -t 1 --budget 0.01 -q -o p.json >/dev/null
grep -o '"[a-z_]*nonzeros": "[0-9]*"' p.json
