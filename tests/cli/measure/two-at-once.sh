# The second is refused, the first goes on.
roofline measure -q --quick --budget 2 --threads 1 --memory 64M -o first.json >table &
pid=$!
sleep 1
status=0
roofline measure -q --quick --budget 0.5 --threads 1 -o second.json || status=$?
wait $pid
ls
exit $status
