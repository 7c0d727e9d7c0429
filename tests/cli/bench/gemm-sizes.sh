roofline bench gemm --sizes 32,64 -t 1 --budget 0.01 -q -o p.json >/dev/null
grep -c "\"group\": \"gemm\"" p.json
