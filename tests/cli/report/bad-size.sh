roofline report --size big "$CASES/../../fixture/report/machine.json"
