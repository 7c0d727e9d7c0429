roofline report -f table --select triad -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/profile.json" "$CASES/../../fixture/report/profile.json"
