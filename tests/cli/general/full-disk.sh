roofline --help >/dev/full
