roofline count --mode fast -- true || echo "status $?"
roofline count || echo "status $?"
roofline count -o /no/such/folder/file -- true || echo "status $?"
roofline count -- /no/such/program || echo "status $?"
roofline --help | grep -cw count || true
roofline count --help | grep -c 'man roofline-count' || true # there is no such page
