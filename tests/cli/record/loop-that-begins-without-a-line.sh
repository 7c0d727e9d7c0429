# A loop whose first instruction has no line is known by the first that has one.
lineless=$(dirname "$PROGRAM")/tests/programs/lineless
test -x "$lineless" && test -e "$(dirname "$PROGRAM")/src/count/engine/libroofline-engine.so" || { echo "no engine was built"; exit 77; }
roofline record -q --loops --traffic none -o p.json -- "$lineless"
grep -o '"name": "lineless[:+][^"]*"' p.json
