# The program's output, the report, and its status; the numbers are other tests' business.
roofline run -q --traffic none -m "$CASES/../../fixture/report/machine.json" -o p.json --picture p.svg -- sh -c "echo from the program; exit 7" >out || echo "exit $?"
head -1 out
grep -c '^# Kernel' out
ls
