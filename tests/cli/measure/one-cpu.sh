# One allowed CPU: one thread count, no failure.
command -v taskset >/dev/null || { echo "taskset is not installed"; exit 77; }
cpu=$(taskset -cp $$ | sed "s/.*: //; s/[,-].*//")
taskset -c "$cpu" roofline measure -q --quick --budget 0.5 --memory 64M -o m.json >table
grep -c "2 threads" table || true
sed -n "s/.*\(1 core\) .*/\1/p" table | head -1
