# Functions that do little but call have rows with --total only; an estimate is marked.
roofline report -f table -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/callers.json" | sed -n '/Kernel/,/Traffic and/p'
roofline report -f table --ascii --total -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/callers.json" | sed -n '/Kernel/,/estimate/p; /^total/p; /little but call/p'
roofline report -f csv --total -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/callers.json" | cut -d, -f 1,3,20-
roofline report -f json --total -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/callers.json" | grep -E '"(name|total)'
