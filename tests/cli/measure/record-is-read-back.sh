# A measured record is written, kept, valid for the other commands, and named by id.
roofline measure -q --quick --budget 0.5 --threads 1 --memory 64M -o m.json >table
grep -q "^fp64.fma" table
grep -q "^L1.load" table
roofline machines | grep -c "core"
roofline machines m.json | sed -n "s/^machine .*/machine shown/p"
ls
test -z "$(find "$HOME" -name "*.tmp*" -o -name ".*json*")"
