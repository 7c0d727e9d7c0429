roofline record --count guess -o p.json -- true
