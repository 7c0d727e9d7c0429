# What MPI's launchers bind to some of the cores has the roof of as many threads on the machine that was measured, and so
# have all its ranks.
command -v taskset >/dev/null || { echo "taskset is not installed"; exit 77; }
test "$(nproc)" -gt 1 || { echo "there is but one CPU"; exit 77; }
cpu=$(taskset -cp $$ | sed "s/.*: //; s/[,-].*//")
roofline measure -q --quick --budget 0.5 --memory 64M -o whole.json >/dev/null
key() { sed -nE 's/.*"(machine_)?key": "([^"]*)".*/\2/p' "$1"; }
taskset -c "$cpu" roofline record -q --count none -o part.json -- true
test "$(key part.json)" = "$(key whole.json)" && echo "the whole's record"
grep -o 'it might use [0-9]* of the [0-9]* cores' part.json | sed 's/[0-9][0-9]*/N/g'
roofline report -f csv part.json >/dev/null
# A record of the part comes first.
taskset -c "$cpu" roofline measure -q --quick --budget 0.5 --memory 64M -o own.json >/dev/null
taskset -c "$cpu" roofline record -q --count none -o part.json -- true
test "$(key part.json)" = "$(key own.json)" && echo "the part's own record"
grep 'it might use' part.json || true
