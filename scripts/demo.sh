#!/bin/sh
# Usage: demo.sh PROGRAM SOURCE
# Measures this machine, runs reference kernels under its roof, then profiles a program that knows nothing of
# roofline. Pictures go to roofline.svg and phases.svg in the current folder.
set -eu
roofline=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
echo "== The roof of this machine: roofline measure"
"$roofline" measure -o "$work/machine.json"
echo
echo "== Reference kernels under it: roofline bench --quick"
"$roofline" bench --quick --machine "$work/machine.json" -o "$work/bench.json" >/dev/null
"$roofline" report --machine "$work/machine.json" "$work/bench.json"
"$roofline" report --machine "$work/machine.json" -f svg -o roofline.svg "$work/bench.json"
echo
echo "== A program: cc -O3 -march=native -g examples/phases.c -o phases; roofline record -- ./phases"
${CC:-cc} -O3 -march=native -g "$source/examples/phases.c" -o "$work/phases"
(cd "$work" && "$roofline" record --functions -o phases.json -- ./phases)
"$roofline" report --machine "$work/machine.json" "$work/phases.json"
"$roofline" report --machine "$work/machine.json" -f svg -o phases.svg "$work/phases.json"
echo
echo "The pictures are in roofline.svg and phases.svg."
