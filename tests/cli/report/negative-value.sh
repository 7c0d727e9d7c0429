# A record with an impossible number is refused by its name and the place in it.
sed 's/"value": *\([0-9]\)/"value": -\1/' "$CASES/../../fixture/report/profile.json" >p.json
roofline report -m "$CASES/../../fixture/report/machine.json" p.json
