# What the engine cannot be brought into is sampled all the same, with the reason; on demand that is a failure.
attached=$(dirname "$PROGRAM")/tests/engine/engine-attached
test -x "$attached" || { echo "no program to attach to was built"; exit 77; }
"$attached" gs 6 >out 2>/dev/null &
roofline record -q -p $! --duration 0.6 -o p.json 2>err || { cat err; exit 77; }
grep -q 'not permitted' p.json && { echo "tracing is not permitted here"; exit 77; }
grep -o 'it uses the gs segment' p.json | sort -u
roofline record -q -p $! --duration 3 --count engine -o q.json 2>&1 || echo $?
wait $! || true
cat out
