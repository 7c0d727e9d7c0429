#!/bin/sh
# Where no memory may be executable a program runs uncounted, as it does natively, and the result says why.
#   denied.sh ENGINE DENY COUNTS PROGRAM
set -u
engine=$1 deny=$2 counts=$3 program=$4
work=$(mktemp -d) || exit 2
. "$(dirname "$0")/tidy.sh"
tidy "$work"
"$program" > "$work/native.out" 2> /dev/null
native=$?
"$deny" --exec env LD_PRELOAD="$engine" ROOFLINE_ENGINE="output=$work/r" "$program" > "$work/out" 2> "$work/err"
status=$?
[ $status -eq 77 ] && { cat "$work/out"; exit 77; }
[ $status -eq $native ] || { echo "status $status, natively $native: $(cat "$work/err")"; exit 1; }
cmp "$work/native.out" "$work/out" || exit 1
"$counts" "$work"/r.* > "$work/counts" || exit 1
grep -Fxq 'state 4' "$work/counts" && grep -q '^message .*executable' "$work/counts" || { cat "$work/counts"; exit 1; }
