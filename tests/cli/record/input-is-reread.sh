echo one two > in
roofline record -q -o p.json -- cat < in
