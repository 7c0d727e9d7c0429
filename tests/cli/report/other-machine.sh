sed 's/fixture-2-cores/another/; s/7B13/9654/' "$CASES/../../fixture/report/machine.json" >other.json
roofline report -f csv --select nothing -m other.json "$CASES/../../fixture/report/profile.json"
