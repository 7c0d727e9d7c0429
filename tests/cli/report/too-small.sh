roofline report -f svg --size 100x100 "$CASES/../../fixture/report/machine.json"
