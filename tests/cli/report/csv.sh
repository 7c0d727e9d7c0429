roofline report -f csv --min-share 5 -m "$CASES/../../fixture/report/machine.json" - <"$CASES/../../fixture/report/profile.json"
