cp "$CASES/../../fixture/report/machine.json" a.json
cp a.json b.json
roofline report a.json b.json
