# A program that is deleted while it runs has names all the same; it is timed, and counted if one run may do for both.
attached=$(dirname "$PROGRAM")/tests/engine/engine-attached
test -x "$attached" || { echo "no program to attach to was built"; exit 77; }
delete_when_it_runs() {
    tries=0
    until readlink /proc/[0-9]*/exe | grep -qxF "$PWD/gone" || test $((tries += 1)) -gt 200; do sleep 0.05; done
    sleep 1 # what is deleted before the sampler has looked at it has addresses only
    rm gone
}
functions() { tr -d ' \n' <p.json | grep -o '"name":"ratio_loop","kind":"function"'; }
cp "$attached" gone
delete_when_it_runs &
roofline record -q --functions -o p.json -- ./gone spin 3 2>/dev/null || test $? = 5
wait
functions
grep -o 'was deleted while it was timed; --single-pass counts' p.json | sort -u
cp "$attached" gone
delete_when_it_runs &
roofline record -q --functions --single-pass --traffic none -o p.json -- ./gone spin 3 2>/dev/null || test $? = 5
wait
functions
grep -c '"op": "mul"' p.json >/dev/null || echo "not counted"
