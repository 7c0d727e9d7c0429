for format in png svg json; do
    roofline report -f $format -o /dev/full "$CASES/../../fixture/report/machine.json" || echo "$format: $?"
done
roofline report -f text "$CASES/../../fixture/report/machine.json" >/dev/full
