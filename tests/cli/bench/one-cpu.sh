taskset -c 0 roofline bench triad --n 1000 --budget 0.01 -o p.json >/dev/null
grep -c "\"threads\": \"1\"" p.json
