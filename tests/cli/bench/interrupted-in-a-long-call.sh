# One call of a kernel takes minutes; an interruption does not wait for its end.
roofline bench gemm -v naive -s 6000 -t 1 -o p.json &
pid=$!
sleep 3
kill -TERM $pid
status=0
wait $pid || status=$?
ls
exit $status
