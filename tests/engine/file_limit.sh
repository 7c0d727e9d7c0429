#!/bin/sh
# A program whose files may not grow large is counted all the same, as far as its process may raise the limit, and
# finds the limit it set.
#   file_limit.sh ENGINE COUNTS PROGRAM
set -u
engine=$1 counts=$2 program=$3
work=$(mktemp -d /dev/shm/rl-engine.XXXXXX 2>/dev/null || mktemp -d) || exit 2
. "$(dirname "$0")/tidy.sh"
tidy "$work"
. "$(dirname "$0")/plain.sh"
engine=$(plain_engine "$engine" "$work")
"$program" > "$work/native" 2> /dev/null; native=$?
sh -c 'ulimit -S -f 8; LD_PRELOAD=$1 ROOFLINE_ENGINE=output=$2/r "$3"; status=$?; ulimit -S -f; exit $status' \
    sh "$engine" "$work" "$program" > "$work/out" 2> "$work/err"
status=$?
[ $status -eq $native ] || { echo "status $status, natively $native"; cat "$work/err"; exit 1; }
{ cat "$work/native"; echo 8; } | cmp - "$work/out" || exit 1
"$counts" "$work"/r.*.0 "/${program##*/}" > "$work/counts" || exit 1
grep '^expect' "$work/err" | sed 's/^expect //' | while IFS= read -r line; do
    grep -Fxq "$line" "$work/counts" || { echo "expected: $line"; exit 1; }
done
