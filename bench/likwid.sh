#!/bin/sh
# Usage: likwid.sh PROGRAM [ROUNDS [FOLDER]]
# Ceilings of one core, measured in alternation by `roofline measure` (all of them at once) and by likwid-bench (one
# second for each, the better of its AVX and AVX-512 kernels). Prints each round's figures and the ratio of medians.
# FOLDER keeps the raw output, and adds to what earlier runs left there.
set -eu
program=$1
rounds=${2:-3}
folder=${3:-}
command -v likwid-bench >/dev/null || { echo "skipped: likwid-bench is not installed (package likwid)"; exit 0; }
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
export LC_ALL=C
wide=
grep -qw avx512f /proc/cpuinfo && wide=yes
l1=$(getconf LEVEL1_DCACHE_SIZE)
l2=$(getconf LEVEL2_CACHE_SIZE)
[ "$l1" -gt 0 ] || l1=32768
[ "$l2" -gt 0 ] || l2=524288

# ceiling, likwid kernel, its size in kB, figure
points() {
    cat <<POINTS
fp64.fma peakflops_avx_fma $((l1 / 2048)) MFlops/s
fp64.fma peakflops_avx512_fma $((l1 / 2048)) MFlops/s
fp32.fma peakflops_sp_avx_fma $((l1 / 2048)) MFlops/s
fp32.fma peakflops_sp_avx512_fma $((l1 / 2048)) MFlops/s
L1.load load_avx $((l1 / 2048)) MByte/s
L1.load load_avx512 $((l1 / 2048)) MByte/s
L1.copy copy_avx $((l1 / 2048)) MByte/s
L1.copy copy_avx512 $((l1 / 2048)) MByte/s
L2.load load_avx $((l2 / 2048)) MByte/s
L2.load load_avx512 $((l2 / 2048)) MByte/s
L3.load load_avx $((4 * l2 / 1024)) MByte/s
L3.load load_avx512 $((4 * l2 / 1024)) MByte/s
DRAM.load load_avx 512000 MByte/s
DRAM.load load_avx512 512000 MByte/s
DRAM.nt-triad stream_mem_avx_fma 512000 MByte/s
DRAM.nt-triad stream_mem_avx512 512000 MByte/s
POINTS
}

# Lines "ours|likwid CEILING VALUE", in G/s.
ours() {
    "$program" measure -q --threads 1 -o "$folder/ours.json" >/dev/null
    awk -F'"' '
        $2 == "id" { id = $4; sub(/@.*/, "", id) }
        $2 == "rate" { want = 1 }
        want && match($0, /"value": *[0-9.eE+-]+/) {
            value = substr($0, RSTART + 8, RLENGTH - 8); sub(/^[ :]*/, "", value)
            if (id ~ /^fp..\.fma\./) sub(/\.[^.]*$/, "", id)
            if (value + 0 > best[id] + 0) best[id] = value + 0
            want = 0
        }
        END { for (id in best) printf "ours %s %.4f\n", id, best[id] / 1e9 }' "$folder/ours.json"
}

likwid() {
    points | while read -r ceiling kernel size figure; do
        case $kernel in *avx512*) [ -n "$wide" ] || continue ;; esac
        likwid-bench -t "$kernel" -w "N:${size}kB:1" -s 1 2>/dev/null </dev/null |
            awk -v c="$ceiling" -v f="$figure:" '$1 == f { printf "likwid %s %.4f\n", c, $2 / 1000 }'
    done | awk '{ if ($3 > best[$2]) best[$2] = $3 } END { for (c in best) printf "likwid %s %.4f\n", c, best[c] }'
}

round=1
while [ "$round" -le "$rounds" ]; do
    ours >>"$folder/results"
    likwid >>"$folder/results"
    round=$((round + 1))
done

echo "one core, G/s: each round; ratio of medians"
awk '
    { key = $1 " " $2; list[key] = list[key] " " $3; n[key]++; v[key, n[key]] = $3 }
    function median(key, i, j, t, k) {
        k = n[key]
        for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++) if (v[key, j] < v[key, i]) { t = v[key, i]; v[key, i] = v[key, j]; v[key, j] = t }
        return k % 2 ? v[key, (k + 1) / 2] : (v[key, k / 2] + v[key, k / 2 + 1]) / 2
    }
    END {
        m = split("fp64.fma fp32.fma L1.load L1.copy L2.load L3.load DRAM.load DRAM.nt-triad", order, " ")
        printf "%-14s %-34s %-34s %s\n", "ceiling", "roofline", "likwid-bench", "ratio"
        for (i = 1; i <= m; i++) {
            a = "ours " order[i]; b = "likwid " order[i]
            if (n[a] && n[b]) printf "%-14s %-34s %-34s %.2f\n", order[i], list[a], list[b], median(a) / median(b)
        }
    }' "$folder/results"
