roofline report -m "$CASES/../../fixture/report/machine.json" -o "" "$CASES/../../fixture/report/profile.json"
