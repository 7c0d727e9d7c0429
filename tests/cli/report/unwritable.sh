roofline report -o /nowhere/roof.svg "$CASES/../../fixture/report/machine.json"
