# A program that does something else in the counted run, with the same end and output, is named as such; one that does
# the same is not, whatever runs beside it or how short it is.
moody=$(dirname "$PROGRAM")/tests/programs/moody
test -x "$moody" || { echo "moody was not built"; exit 77; }
# Without samples only the time on processors is compared; without perf, not all functions are.
roofline record -q -o p.json --traffic none -- true
grep -q '(perf)' p.json || { echo "perf samples nothing here"; exit 77; }
for way in same function block less more; do
    rm -f moody.seen p.json
    roofline record -q -o p.json --traffic none -- "$moody" $way >/dev/null
    echo "$way: $(grep -c 'behaves differently from run to run' p.json || true)"
    grep -oE "code that the counted run never executed, in [a-z]+|of all, in which the first run was not seen once|though counting slows programs down" p.json || true
done
printf 'awk 1 </etc/passwd\n' >short.sh
workers=$(dirname "$PROGRAM")/tests/programs/workers
for command in "true" "sh -c :" "awk BEGIN{while(i++<3000000)s+=0.5}" "${workers} openmp 1" "sh short.sh"; do
    [ "${command#"$workers"}" = "$command" ] || [ -x "$workers" ] || continue
    rm -f p.json
    # shellcheck disable=SC2086
    roofline record -q -o p.json --traffic none -- $command >/dev/null
    grep -o 'behaves differently from run to run[^.]*' p.json || true
done
