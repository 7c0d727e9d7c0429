# Refused before measuring, and nothing is left.
roofline measure --quick -o no/such/folder/m.json
