roofline report -f gif "$CASES/../../fixture/report/machine.json"
