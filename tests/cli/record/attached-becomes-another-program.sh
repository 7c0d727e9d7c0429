# A running program that replaces itself by exec, again and again, and is in bursts of counting as it does: all that
# it becomes is counted, and it ends as it would.
attached=$(dirname "$PROGRAM")/tests/engine/engine-attached
test -x "$attached" || { echo "no program to attach to was built"; exit 77; }
# For four seconds, however often that is on this machine, then until it is told to end.
cat >again <<'END'
i=0
while [ $i -lt 20000 ]; do i=$((i + 1)); done
read up idle </proc/uptime
[ ${up%.*} -lt $1 ] || exec "$2" spin 100
exec sh again $1 "$2"
END
read up idle </proc/uptime
sh again $((${up%.*} + 4)) "$attached" >out 2>/dev/null &
roofline record -q -p $! --duration 10 --count engine -o p.json 2>err || {
    kill -TERM $! 2>/dev/null || true
    grep -q 'not permitted\|perf_event' err && { cat err; exit 77; }
    cat err
}
kill -TERM $! 2>/dev/null || true
wait $! || echo $?
cat out
grep -o '"[0-9]* process images were counted: .*"' p.json | grep -c engine-attached
grep 'there were no more bursts' p.json | grep -v 'no such process\|it has ended' || true
grep -c 'children of the program still ran' p.json || true
