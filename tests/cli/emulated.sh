#!/bin/sh
# Usage: emulated.sh EMULATOR CPU WIDEST PROGRAM
# On another processor, as qemu's user emulation shows it, no command executes an instruction that it lacks, and
# what is measured and run there is of its instruction sets: none of those after WIDEST of scalar sse2 avx2 avx512.
set -u
emulator=$1 cpu=$2 widest=$3 program=$4
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export HOME="$work" LC_ALL=C.UTF-8
unset XDG_DATA_HOME ROOFLINE_ISA
emulated() {
    "$emulator" -cpu "$cpu" "$program" "$@" >out 2>err && return
    echo "status $? on $cpu: roofline $*"
    cat err
    exit 1
}
emulated doctor
emulated machines
emulated bench --list
emulated measure --quick --budget 0.5 --threads 1 --memory 64M -o machine.json
for kernel in 'axpy --n 1000' 'conv2d --c 8 --h 10 --w 10' 'copy --n 1000' 'dot --n 1000' exp 'gemm --n 100' \
    'spmv --n 50' 'stencil --n 20' 'triad --n 1000'; do
    # shellcheck disable=SC2086
    emulated bench $kernel --budget 0.005 --threads 1 --machine machine.json -o bench.json
done
emulated report --machine machine.json bench.json
grep -q "\"isa\": \"$widest\"" machine.json || { echo "$cpu has $widest, but it was not measured"; exit 1; }
for isa in scalar sse2 avx2 avx512; do
    [ "${past:-}" ] && grep -l "\"isa\": \"$isa\"" machine.json && exit 1
    [ $isa = "$widest" ] && past=1
done
exit 0
