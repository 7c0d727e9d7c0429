roofline report --theme pink "$CASES/../../fixture/report/machine.json"
