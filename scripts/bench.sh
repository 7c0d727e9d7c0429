#!/bin/sh
# Usage: bench.sh PROGRAM [COMPARISON...]
# Comparisons with other programs, one after the other, all of bench/ if none is named; each skips itself where its
# peer is not installed. BENCH_ROUNDS: how often each is repeated, 3 if not set.
set -eu
program=$1
shift
folder=$(dirname "$0")/../bench
[ $# -gt 0 ] || set -- $(cd "$folder" && echo *.sh | sed 's/\.sh//g')
echo "$# comparisons: $*; likwid takes 3 minutes, sampling 2, slowdown 15"
for comparison in "$@"; do
    echo "== $comparison"
    "$folder/$comparison.sh" "$program" "${BENCH_ROUNDS:-3}"
done
