#!/bin/sh
# A program in a control group with little memory: counted where the engine's few MiB beside it fit, and where the
# program itself does not fit, killed as natively, which the numbers say. The traffic model's share goes with the
# machine's caches: it keeps a sixteenth of their size.
#   memory_group.sh ROOFLINE PROGRAM
set -u
roofline=$1 program=$2
work=$(mktemp -d) || exit 2
skip() { echo "no group with a limit on memory can be made here: $1"; exit 77; }
for parent in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    group=$parent/rl-engine-$$
    [ -e "$parent/cgroup.procs" ] && mkdir "$group" 2> /dev/null || continue
    for limit in memory.limit_in_bytes memory.max; do
        [ ! -w "$group/$limit" ] || break 2
    done
    rmdir "$group"
done
[ -d "$group" ] || { rmdir "$work"; skip "no folder of control groups is writable"; }
. "$(dirname "$0")/tidy.sh"
tidy "$work"
trap 'rm -rf "$work"; rmdir "$group"' EXIT
cd "$work" || exit 2
[ ! -e "$group/memory.swap.max" ] || echo 0 > "$group/memory.swap.max"
# within MIB COMMAND…
within() {
    echo $(($1 << 20)) > "$group/$limit" || exit 2
    shift
    sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$group" "$@"
}
# What `doctor` says of the last cache, in MiB; 0: nothing.
cache_mib() {
    "$roofline" doctor 2> /dev/null | sed -n 's/^memory .*L[2-9] \([0-9]*\) MiB · DRAM.*/\1/p' | grep . || echo 0
}
model=$(($(cache_mib) / 16))
within 32 "$program" 8 > native; status=$?
[ $status -eq 3 ] || skip "status $status natively"
bad=0
for mode in count traffic full; do
    [ $mode = count ] && room=32 || room=$((32 + model))
    within $room "$roofline" count -m $mode -o numbers -- "$program" 8 > out 2> err; status=$?
    [ $status -eq 3 ] && cmp native out && grep -q '^images exited 1$' numbers &&
        grep -q "^flop $((8 << 20))$" numbers || { echo "$mode: status $status"; cat err numbers; bad=1; }
done
within 16 "$program" 64 > native 2> /dev/null; status=$?
[ $status -eq 137 ] || skip "status $status natively with 64 MiB in 16"
for mode in count traffic; do
    echo $((16 << 20)) > "$group/$limit"
    "$roofline" count -m $mode -o numbers -- sh -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' "$group" "$program" 64 > out 2> err
    status=$?
    [ $status -eq 137 ] && cmp native out && grep -q '^images running 1$' numbers ||
        { echo "$mode, killed: status $status"; cat err numbers; bad=1; }
done
exit $bad
