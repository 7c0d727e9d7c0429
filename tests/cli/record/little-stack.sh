# Reading debug information needs more stack than a limit may leave; the program itself has that limit.
ulimit -s 96
roofline record -q -o p.json --traffic none -- sh -c 'ulimit -s'
grep -c '"kind": "program"' p.json
