# An interruption leaves neither a record nor a temporary file.
roofline measure --thorough --threads 1 --memory 64M -o m.json >table &
pid=$!
sleep 1
kill -TERM $pid
status=0
wait $pid || status=$?
ls
find "$HOME" -name "*.json*"
exit $status
