# Times recorded before are joined by name; those of another program are said to be.
test -e "$(dirname "$PROGRAM")/src/count/engine/libroofline-engine.so" || { echo "no engine was built"; exit 77; }
roofline record -q --count none -o sleep.json -- sleep 0.01
for program in sleep true; do
    roofline record -q --traffic none --times sleep.json -o p.json -- $program 0.01
    grep -o 'the times are those of another program, sleep' p.json || echo "$program: its own"
done
