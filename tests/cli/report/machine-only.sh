roofline report "$CASES/../../fixture/report/machine.json"
