roofline report -f chart --size 120x40 "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/profile.json"
