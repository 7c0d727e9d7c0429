# One region: what ran in it is counted there, the rest of the program has no row; its traffic is told.
phases=$(dirname "$PROGRAM")/tests/programs/phases
test -x "$phases" || { echo "no program with regions was built"; exit 77; }
for traffic in model full; do
    roofline record -q -o p.json --traffic $traffic --only 'mult*' -- "$phases" 64 2 >/dev/null || test $? -eq 3
    grep -c triad p.json || true
    # name, kind, then fp64 mul and DRAM bytes of each kernel, from the record itself
    tr -d ' \n' <p.json | sed 's/{"name":/\n&/g' | grep -E '"name":"(multiply|gemm)"' |
        sed -E 's/.*"name":"([a-z]*)".*"precision":"fp64","op":"mul"[^}]*"value":([0-9]*)[^}]*}.*"level":"DRAM","bytes":\{"value":([0-9]*).*/\1 \2 \3/' |
        awk '{ print $1, $2, ($3 > 90000 && $3 < 200000) }'
done
grep -o 'only the regions asked for were looked at' p.json
roofline record -q -o p.json --only multiplying --traffic none -- "$phases" 64 1 >/dev/null || test $? -eq 3
grep -o 'no region of that name was entered' p.json
roofline record -q -o p.json --function 'tri*' --traffic none -- "$phases" 64 1 >/dev/null || test $? -eq 3
grep -c gemm p.json || true
grep -o -m 1 'triad' p.json
