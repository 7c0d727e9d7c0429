roofline report --model flat "$CASES/../../fixture/report/machine.json"
