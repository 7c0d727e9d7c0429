# The kernel tells of a folder with a line's end in its name in two ways; it is one program, counted and timed.
phases=$(dirname "$PROGRAM")/tests/programs/phases
test -x "$phases" && test -e "$(dirname "$PROGRAM")/src/count/engine/libroofline-engine.so" || { echo "no engine was built"; exit 77; }
mkdir 'a
b'
cp "$phases" 'a
b/phases'
roofline record -q --count none --sampling perf -o p.json -- sleep 0.01 || { echo "perf does not sample here"; exit 77; }
for how in perf timer; do
    roofline record -q --sampling $how --functions --traffic none -o p.json -- 'a
b/phases' 8 1 >/dev/null || test $? = 3
    tr -d ' \n' <p.json | grep -o '"kind":"program"' | wc -l
    grep -c 'it ran in the timed run but not' p.json || true
done
