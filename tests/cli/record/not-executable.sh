touch file
roofline record -o p.json -- ./file
