# Without counting nothing but time is told.
attached=$(dirname "$PROGRAM")/tests/engine/engine-attached
test -x "$attached" || { echo "no program to attach to was built"; exit 77; }
"$attached" spin 2 >out 2>/dev/null &
roofline record -q -p $! --duration 0.5 --count none -o p.json 2>err || { cat err; exit 77; }
wait $! || true
cat out
grep -c '"op"\|"mix"' p.json || true
grep -o 'counting was switched off' p.json | sort -u
grep -o 'while the process ran natively' p.json
