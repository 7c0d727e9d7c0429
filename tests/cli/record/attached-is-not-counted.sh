# Counts that were demanded of a running process are refused, not left out.
roofline record -p $$ --duration 0.1 --count engine -o p.json || echo $?
ls
