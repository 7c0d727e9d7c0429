roofline record -o p.json -- ./no-such-program

