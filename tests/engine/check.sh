#!/bin/sh
# One program, natively and under the counting engine: same standard output, same exit status, and
# every "expect …" line it wrote to standard error holds of its counts.
#   check.sh ENGINE COUNTS PROGRAM [ARGUMENT…]
# A program that ends with 77 natively is skipped, for the reason it prints.
# RLE_OPTIONS in the environment: options of the engine, each with a comma behind it.
# With LAUNCHER set, the program is started by it rather than with the engine preloaded.
set -u
engine=$1 counts=$2 program=$3
shift 3
work=$(mktemp -d /dev/shm/rl-engine.XXXXXX 2>/dev/null || mktemp -d) || exit 2
. "$(dirname "$0")/tidy.sh"
tidy "$work"
. "$(dirname "$0")/plain.sh"
engine=$(plain_engine "$engine" "$work")
"$program" "$@" > "$work/native.out" 2> "$work/native.err" < /dev/null &
running=$!
wait $running; native=$?
[ $native -ne 77 ] || { cat "$work/native.out"; exit 77; }
options=${RLE_OPTIONS:-}output=$work/r
if [ -n "${LAUNCHER:-}" ]; then
    "$LAUNCHER" "$engine" "$options" "$program" "$program" "$@" > "$work/engine.out" 2> "$work/engine.err" < /dev/null &
else
    LD_PRELOAD=$engine ROOFLINE_ENGINE=$options "$program" "$@" > "$work/engine.out" 2> "$work/engine.err" < /dev/null &
fi
pid=$! running=$!
wait $pid; counted=$?
running=
bad=0
if [ $native -ne $counted ]; then
    echo "status: native $native, under the engine $counted"
    bad=1
fi
cmp "$work/native.out" "$work/engine.out" || { diff "$work/native.out" "$work/engine.out" | head -20; bad=1; }
grep -v '^expect' "$work/engine.err" && [ -z "$(grep -v '^expect' "$work/native.err")" ] && bad=1
first=$work/r.$pid.0
[ -e "$first" ] || { echo "no result file"; exit 1; }
"$counts" "$first" "/${program##*/}" > "$work/counts" || bad=1
grep '^expect' "$work/engine.err" | sed 's/^expect //' > "$work/expected"
while IFS= read -r line; do
    grep -Fxq "$line" "$work/counts" && continue
    echo "expected: $line"
    echo "  counted: $(grep -F "${line% *} " "$work/counts")"
    bad=1
done < "$work/expected"
exit $bad
