#!/bin/sh
# Usage: demo.sh PROGRAM SOURCE
# Measures this machine, runs reference kernels under its roof, then profiles a program that knows nothing of
# roofline. Pictures go to roofline.svg and phases.svg in the current folder, records to build/demo.
set -eu
roofline=$1
source=$2
work=build/demo
mkdir -p "$work"
trap 'exit 130' INT TERM
echo "== 1 of 3, the roof of this machine: roofline measure"
"$roofline" measure -o "$work/machine.json"
echo
echo "== 2 of 3, reference kernels under it: roofline bench --quick"
"$roofline" bench --quick --machine "$work/machine.json" -o "$work/bench.json" >/dev/null
"$roofline" report --machine "$work/machine.json" "$work/bench.json"
"$roofline" report --machine "$work/machine.json" -f svg -o roofline.svg "$work/bench.json"
echo
echo "== 3 of 3, a program: cc -O3 -march=native -g examples/phases.c -o phases; roofline record --functions -- ./phases"
${CC:-cc} -O3 -march=native -g "$source/examples/phases.c" -o "$work/phases"
"$roofline" record --functions -o "$work/phases.json" -- "$work/phases"
"$roofline" report --machine "$work/machine.json" "$work/phases.json"
"$roofline" report --machine "$work/machine.json" -f svg -o phases.svg "$work/phases.json"
echo
echo "Pictures:        roofline.svg (kernels) and phases.svg (program); records: $work"
echo "Your program:    ${roofline#"$PWD"/} run -- ./app"
echo "Install it all:  make install PREFIX=\$HOME/.local, or as root make install"
