#!/bin/sh
# Usage: bench.sh PROGRAM
# Comparisons with other programs, one after the other; each skips itself where its peer is not installed.
set -eu
program=$1
for comparison in "$(dirname "$0")"/../bench/*.sh; do
    echo "== $(basename "$comparison" .sh)"
    "$comparison" "$program"
done
