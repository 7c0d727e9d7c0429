# One call of a kernel takes a minute or more; an interruption does not wait for its end, and further ones do not put it off.
roofline bench gemm -v naive -s 4000 -t 1 -o p.json &
pid=$!
(sleep 40; kill -KILL $pid) 2>/dev/null &
watchdog=$!
sleep 3
for i in 1 2 3 4 5 6 7 8; do
    kill -TERM $pid 2>/dev/null || true
    sleep 0.6
done
status=0
wait $pid || status=$?
kill $watchdog
ls
exit $status
