# A program that ends only because its reader does is not run again without one: it would never end.
roofline record -q -o p.json -- yes | head -n 1
grep -o "output was no longer read" p.json
