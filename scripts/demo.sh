#!/bin/sh
# Usage: demo.sh PROGRAM
# Measures this machine, runs real kernels under its roof, and shows the roofline in the terminal and as
# roofline.svg in the current folder.
set -eu
roofline=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
echo "== The roof of this machine: roofline measure"
"$roofline" measure -o "$work/machine.json"
echo
echo "== Real kernels under it: roofline bench --quick"
"$roofline" bench --quick --machine "$work/machine.json" -o "$work/profile.json" >/dev/null
echo
echo "== What binds them, and what to try: roofline report"
"$roofline" report --machine "$work/machine.json" "$work/profile.json"
"$roofline" report --machine "$work/machine.json" -f chart "$work/profile.json"
"$roofline" report --machine "$work/machine.json" -f svg -o roofline.svg "$work/profile.json"
echo
echo "The picture is in roofline.svg."
