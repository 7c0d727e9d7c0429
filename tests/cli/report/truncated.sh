head -c 700 "$CASES/../../fixture/report/profile.json" >half.json
roofline report -m "$CASES/../../fixture/report/machine.json" half.json
