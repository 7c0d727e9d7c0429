roofline run -- ./no-such-program
