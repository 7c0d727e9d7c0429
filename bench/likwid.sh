#!/bin/sh
# Usage: likwid.sh PROGRAM [ROUNDS [FOLDER]]
# Ceilings of one core, measured in alternation by `roofline measure` (all of them at once) and by likwid-bench (the
# better of its AVX and AVX-512 kernels, each for about a second). Prints each round's figures, the ratio of medians and
# that of the best. FOLDER keeps the raw output, and adds to what earlier runs left there.
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
sample_s=1
trial_bytes=2000000000 # moved by the trial that tells how many iterations a second takes

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

usable_points() {
    if [ -n "$wide" ]; then points; else points | grep -v avx512; fi
}

say() {
    echo "$*" >&2
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

# likwid-bench with ITERATIONS passes; its own search for their number takes four times as long as the result.
run_likwid() {
    likwid-bench -t "$1" -w "N:${2}kB:1" -i "$3" 2>/dev/null </dev/null
}

# Passes that take about sample_s, from a short trial.
passes() {
    trial=$((trial_bytes / ($2 * 1000)))
    [ "$trial" -ge 10 ] || trial=10
    run_likwid "$1" "$2" "$trial" |
        awk -v n="$trial" -v want="$sample_s" '$1 == "Time:" && $2 > 0 { k = n * want / $2; printf "%d\n", k < 10 ? 10 : k }'
}

likwid() {
    usable_points | while read -r ceiling kernel size figure; do
        say "  likwid-bench $kernel, $size kB"
        iterations=$(passes "$kernel" "$size")
        [ -n "$iterations" ] || { say "  likwid-bench $kernel does not run here"; continue; }
        run_likwid "$kernel" "$size" "$iterations" |
            awk -v c="$ceiling" -v f="$figure:" '$1 == f { printf "likwid %s %.4f\n", c, $2 / 1000 }'
    done | awk '{ if ($3 > best[$2]) best[$2] = $3 } END { for (c in best) printf "likwid %s %.4f\n", c, best[c] }'
}

n_points=$(usable_points | wc -l)
say "$rounds rounds of 'roofline measure' and $n_points likwid-bench kernels: about $((rounds * (10 + n_points * 3))) s"
round=1
while [ "$round" -le "$rounds" ]; do
    say "round $round of $rounds: roofline measure"
    ours >>"$folder/results"
    say "round $round of $rounds: likwid-bench"
    likwid >>"$folder/results"
    round=$((round + 1))
done

echo "one core, G/s: each round; ratio of medians, and of the best"
awk '
    { key = $1 " " $2; list[key] = list[key] " " sprintf("%.1f", $3); n[key]++; v[key, n[key]] = $3 }
    function sort(key, i, j, t) {
        for (i = 1; i <= n[key]; i++) for (j = i + 1; j <= n[key]; j++) if (v[key, j] < v[key, i]) { t = v[key, i]; v[key, i] = v[key, j]; v[key, j] = t }
    }
    function median(key, k) {
        k = n[key]
        return k % 2 ? v[key, (k + 1) / 2] : (v[key, k / 2] + v[key, k / 2 + 1]) / 2
    }
    END {
        m = split("fp64.fma fp32.fma L1.load L1.copy L2.load L3.load DRAM.load DRAM.nt-triad", order, " ")
        printf "%-14s %-30s %-30s %6s %6s\n", "ceiling", " roofline", " likwid-bench", "median", "best"
        for (i = 1; i <= m; i++) {
            a = "ours " order[i]; b = "likwid " order[i]
            if (!n[a] || !n[b]) continue
            sort(a); sort(b)
            printf "%-14s %-30s %-30s %6.2f %6.2f\n", order[i], list[a], list[b], median(a) / median(b), v[a, n[a]] / v[b, n[b]]
        }
    }' "$folder/results"
