roofline report "$CASES/../../fixture/report/profile.json"
