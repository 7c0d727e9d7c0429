# Numbers whose sums and ratios would be infinite, or zero, are refused by their name and the place.
for value in 1e300 1e-300; do
    sed "s/\"value\": *[0-9][0-9.e+-]*/\"value\": $value/" "$CASES/../../fixture/report/profile.json" >p.json
    roofline report -m "$CASES/../../fixture/report/machine.json" p.json || echo $?
done
