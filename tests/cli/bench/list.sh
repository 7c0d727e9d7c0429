roofline bench --list exp
