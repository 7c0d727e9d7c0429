#!/bin/sh
# The embedding example gives a verdict and draws a picture from a machine record, and refuses a foreign file.
set -eu
program=$1
machine=$2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"$program" "$machine" "$work/embed.svg" >"$work/out"
grep -q '^my dot: ' "$work/out"
grep -q '<svg' "$work/embed.svg"
echo '{}' >"$work/foreign.json"
if "$program" "$work/foreign.json" "$work/none.svg" 2>"$work/err"; then
    echo "a foreign file was accepted"
    exit 1
fi
grep -q 'no roofline record' "$work/err"
[ ! -e "$work/none.svg" ]
