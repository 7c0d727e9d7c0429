# A machine record with a negative rate or clock is refused by the name of the number and its place.
fixture=$CASES/../../fixture/report
sed 's/"value": *\([0-9]\)/"value": -\1/' "$fixture/machine.json" >m.json
roofline report -m m.json "$fixture/profile.json" || echo $?
for key in per_cycle clock_hz; do
    sed "s/\"unit\": \"FLOP.s\",/&\"$key\": -1,/" "$fixture/machine.json" >m.json
    roofline report -m m.json "$fixture/profile.json" || echo $?
done
