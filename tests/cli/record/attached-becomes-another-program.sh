# A running program that replaces itself by exec, again and again, and is in bursts of counting as it does: all that
# it becomes is counted, and it ends as it would.
attached=$(dirname "$PROGRAM")/tests/engine/engine-attached
test -x "$attached" || { echo "no program to attach to was built"; exit 77; }
cat >again <<'END'
i=0
while [ $i -lt 20000 ]; do i=$((i + 1)); done
[ $1 -gt 0 ] || exec "$2" spin 3
exec sh again $(($1 - 1)) "$2"
END
sh again 120 "$attached" >out 2>/dev/null &
roofline record -q -p $! --duration 10 --count engine -o p.json 2>err || {
    grep -q 'not permitted\|perf_event' err && { cat err; exit 77; }
    cat err
}
wait $! || echo $?
cat out
grep -o '"[0-9]* process images were counted: .*"' p.json | grep -c engine-attached
grep 'there were no more bursts' p.json | grep -v 'no such process\|it has ended' || true
grep -c 'children of the program still ran' p.json || true
