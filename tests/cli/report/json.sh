roofline report -f json --select triad -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/profile.json"
