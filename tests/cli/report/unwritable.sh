roofline report -o /dev/null/roof.svg "$CASES/../../fixture/report/machine.json"
