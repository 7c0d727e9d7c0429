# A running process whose file is deleted, or lies in a mount namespace of its own, has names.
attached=$(dirname "$PROGRAM")/tests/engine/engine-attached
test -x "$attached" || { echo "no program to attach to was built"; exit 77; }
record() {
    roofline record -q -p "$1" --duration 0.5 --count none --functions -o p.json 2>err || { cat err; exit 77; }
    tr -d ' \n' <p.json | grep -o '"name":"ratio_loop","kind":"function"'
}
cp "$attached" gone
./gone spin 2 >out 2>ready &
until grep -q ready ready; do sleep 0.05; done
rm gone
record $!
wait $! || true
rm ready
mkdir mounted
unshare -rm sh -c 'mount -t tmpfs none mounted && cp "$0" mounted/inner && exec mounted/inner spin 2' "$attached" >out 2>ready &
until grep -q . ready || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
if grep -q ready ready; then record $!; else echo '"name":"ratio_loop","kind":"function"'; fi
wait $! || true
