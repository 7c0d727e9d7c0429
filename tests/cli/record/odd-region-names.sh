# A region may have any name: all are told apart, counted, and valid text in every format.
program=$(dirname "$PROGRAM")/tests/programs/odd_names
roofline record -q -o p.json --regions --traffic none -- "$program"
iconv -f UTF-8 -t UTF-8 p.json >/dev/null && echo "UTF-8"
tr -d '\n' <p.json | sed 's/"name": /\n&/g' | sed -nE 's/^"name": ("([^"\\]|\\.)*"), *"kind": "region".*"op": "mul"[^}]*"value": ([0-9]*).*/\1 \3/p'
for format in json csv svg table; do
    roofline report -q -m "$CASES/../../fixture/report/machine.json" -f $format p.json >out.$format
    iconv -f UTF-8 -t UTF-8 out.$format >/dev/null || echo "$format is no UTF-8"
    ! tr -d '\n' <out.$format | grep -q '[[:cntrl:]]' || echo "$format has control characters"
done
