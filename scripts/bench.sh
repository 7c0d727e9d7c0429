#!/bin/sh
# Usage: bench.sh PROGRAM [COMPARISON...]
# Comparisons with other programs, one after the other, all of bench/ if none is named; each skips itself where its
# peer is not installed, and fails where it finds what must not be. BENCH_ROUNDS: how often each is repeated, if not as
# often as it is by itself.
set -eu
program=$1
shift
folder=$(dirname "$0")/../bench
[ $# -gt 0 ] || set -- $(cd "$folder" && echo *.sh | sed 's/\.sh//g')
echo "$# comparisons: $*; accuracy takes 3 minutes, likwid 3, sampling 4, slowdown 15, verdicts 1"
result=0
for comparison in "$@"; do
    [ -x "$folder/$comparison.sh" ] || { echo "bench: no comparison '$comparison'" >&2; exit 2; }
    echo "== $comparison"
    status=0
    "$folder/$comparison.sh" "$program" ${BENCH_ROUNDS:+"$BENCH_ROUNDS"} || status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ] || result=$status # 77: skipped, as in tests
done
exit $result
