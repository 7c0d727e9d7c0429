# Interrupted, in a burst or not, it writes what it has, and the program runs on natively.
attached=$(dirname "$PROGRAM")/tests/engine/engine-attached
test -x "$attached" || { echo "no program to attach to was built"; exit 77; }
"$attached" blocked 8 >out 2>/dev/null &
program=$!
command -v setsid >/dev/null || { echo "needs setsid, to signal a group as a terminal does"; exit 77; }
setsid roofline record -q -p $program --duration 60 -o p.json 2>err &
record=$!
sleep 1.5
kill -TERM "-$record"
wait $record || { cat err; exit 77; }
grep -o '"schema": "roofline-profile/1"' p.json
grep TracerPid /proc/$program/status | tr '\t' ' '
wait $program || echo $?
cat out
