# A region has bytes of every level without being asked for alone: at least those of the function it calls.
phases=$(dirname "$PROGRAM")/tests/programs/phases
test -x "$phases" || { echo "no program with regions was built"; exit 77; }
for traffic in model full; do
    roofline record -q -o p.json --traffic $traffic -- "$phases" 64 2 >/dev/null || test $? -eq 3
    for level in L2 L3 DRAM; do
        # kind, name, bytes of the level, from the record itself; then the region against function and program
        tr -d ' \n' <p.json | sed 's/{"name":/\n&/g' |
            sed -nE 's/.*"name":"([a-z]*)","kind":"(region|function|program)".*"level":"'$level'","bytes":\{"value":([0-9]*).*/\2 \1 \3/p' |
            awk -v l=$level '$1 == "program" { p = $3 } $1 == "function" && $2 == "gemm" { g = $3 }
                $1 == "region" { print $2, l, ($3 > 0), ($3 >= g), ($3 <= p); n++ } END { if (!n) print "no " l }'
    done
done
