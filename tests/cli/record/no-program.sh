roofline record -o p.json
