roofline report -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/profile.json"
