roofline record --pid 999999999 --duration 1 -o p.json
