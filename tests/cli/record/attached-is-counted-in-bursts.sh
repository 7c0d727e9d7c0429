# A running program is counted now and then: ratios are told, amounts and rates are not, and it runs on.
attached=$(dirname "$PROGRAM")/tests/engine/engine-attached
test -x "$attached" || { echo "no program to attach to was built"; exit 77; }
"$attached" threads 4 >out 2>/dev/null &
roofline record -q -p $! --duration 2 --count engine -o p.json 2>err || {
    grep -q 'not permitted\|perf_event' err && { cat err; exit 77; }
    cat err
}
status=0
wait $! || status=$?
echo "$(cat out), status $status"
# of ratio_loop: multiplications and additions are as many, loads are twice the stores
tr -d ' \n' <p.json | sed 's/{"name":/\n&/g' | grep '"name":"ratio_loop","kind":"function"' |
    sed -E 's/.*"mix":(true).*"load_bytes":\{"value":([0-9.e+]*).*"store_bytes":\{"value":([0-9.e+]*).*/\1 \2 \3/' |
    awk '{ print $1, ($3 > 100000 && $2 / $3 > 1.999 && $2 / $3 < 2.001) }'
tr -d ' \n' <p.json | sed 's/{"name":/\n&/g' | grep '"name":"ratio_loop","kind":"function"' | grep -o '"op":"\(add\|mul\)","isa":"sse2","count":{"value":[0-9.e+]*' |
    sed 's/.*"value"://' | awk '{ v[NR] = $1 } END { print NR, (v[1] > 1000 && v[1] / v[2] > 0.999 && v[1] / v[2] < 1.001) }'
grep -c '"calls"' p.json || true
grep -o 'counted in [1-9][0-9]* bursts*' p.json | sed 's/[0-9][0-9]* bursts*/N bursts/'
grep -c '"total_' p.json || true # who called whom in a burst is not who called whom in between
