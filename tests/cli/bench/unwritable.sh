roofline bench triad --n 100 --budget 0.01 -t 1 -o /dev/null/p.json
