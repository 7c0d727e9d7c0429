#!/bin/sh
# Usage: accuracy.sh PROGRAM [ROUNDS [FOLDER [CASE...]]]
# How true the bytes per memory level are: of the default sampling, which follows a few cache lines drawn at random,
# against every access followed. Each program runs once in full and ROUNDS times sampled, each time with another draw,
# by the caches of this machine. Then what is followed in full against Valgrind's cachegrind (misses of L1) and against
# what a triad has to move. Fails where a promise is not kept: numeric programs off by more than 3 %, any program off by
# more than was stated, misses off by more than 1 %, the triad by more than 0.1 %. Cases: dgemm dgemm_tiled triad spmv
# stencil openblas columns bzip2 sqlite; all of them if none is named. FOLDER keeps what was built and measured, and
# adds to what earlier runs left there. FIRST_SEED: of the first draw, 1 if not set.
set -eu
program=$(realpath "$1")
rounds=${2:-3}
folder=${3:-}
source=$(cd "$(dirname "$0")/.." && pwd)
kernels="dgemm dgemm_tiled triad spmv stencil columns"
cases="$kernels openblas bzip2 sqlite"
if [ $# -gt 3 ]; then shift 3; cases=$*; fi
cc=${CC:-cc}
command -v "$cc" >/dev/null || { echo "skipped: no C compiler"; exit 77; }
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
cd "$folder"
export LC_ALL=C OPENBLAS_NUM_THREADS=1
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE NUMERIC_TIME || true
"$program" count -m traffic -o numbers -- true || { echo "skipped: the counting engine does not work here"; exit 77; }
grep -q '^level' numbers || { echo "skipped: $(cat numbers)"; exit 77; }
# Where memory lies decides what shares a set: the same place in every run, where the system allows it.
fixed="setarch -R"
$fixed true 2>/dev/null || { fixed=; echo "without setarch -R: addresses, and so what is true, vary from run to run"; }

"$cc" -O3 -march=haswell -o numeric "$source/tests/engine/programs/numeric.c" # Valgrind knows no AVX-512
"$cc" -O2 -o blas "$source/bench/blas.c" -ldl
if [ ! -f text ]; then # what was measured before belongs to it
    (cd "$source" && find src include docs data tests -type f | sort | xargs cat "$program" 2>/dev/null | head -c 6000000) >text
fi
sed 's/ROWS/150000/' "$source/bench/work.sql" >work.sql

# run_case CASE SCALE PREFIX...: the case's command, after the words of PREFIX.
run_case() {
    case=$1 scale=$2
    shift 2
    case $case in
    openblas) "$@" ./blas 1200 $((6 * scale)) ;;
    bzip2) "$@" bzip2 -k -c text ;;
    sqlite) "$@" sqlite3 :memory: ".read work.sql" ;;
    *) "$@" ./numeric "$case" $(($(rounds_of "$case") * scale)) ;;
    esac
}
rounds_of() {
    case $1 in
    dgemm) echo 25 ;;
    dgemm_tiled) echo 12 ;;
    triad) echo 20 ;;
    spmv) echo 20 ;;
    stencil) echo 40 ;;
    columns) echo 20 ;;
    *) echo "accuracy: no case '$1'" >&2; exit 2 ;;
    esac
}
is_installed() {
    case $1 in
    openblas) ./blas 8 1 >/dev/null 2>&1 ;;
    bzip2) command -v bzip2 >/dev/null ;;
    sqlite) command -v sqlite3 >/dev/null ;;
    *) rounds_of "$1" >/dev/null ;;
    esac
}
# counted CASE SCALE OPTIONS...: its numbers, in the file `numbers`.
counted() {
    what=$1 scale=$2
    shift 2
    run_case "$what" "$scale" $fixed "$program" count "$@" -o numbers -- >/dev/null 2>errors || {
        echo "accuracy: $what failed:" >&2
        cat errors >&2
        exit 1
    }
    grep -qx 'lost 0' numbers || { echo "accuracy: $what: accesses were lost" >&2; exit 1; }
}
# note CASE DRAW: lines "CASE DRAW LEVEL bytes error" in the file `results`; draw 0 is the truth. A level is named by
# the side nearer to the core, as in profiles; what the core asks for is counted, not sampled.
note() {
    awk -v c="$1" -v d="$2" '
        $1 == "load_bytes" || $1 == "store_bytes" { asked += $2 }
        $1 == "level" { n++; bytes[n] = $4; error[n] = $6 }
        END {
            printf "%s %s L1 %.0f 0\n", c, d, asked
            for (i = 1; i <= n; i++) printf "%s %s %s %s %s\n", c, d, i < n ? "L" i + 1 : "DRAM", bytes[i], error[i]
        }' numbers >>results
}

bad=0
present=
for case in $cases; do
    if is_installed "$case"; then present="$present $case"; else echo "$case is not installed: without it"; fi
done
echo "$(echo $present | wc -w) programs, once in full and $rounds times sampled, and cachegrind: about $(((100 + 12 * rounds) / 60 + 1)) minutes"
for case in $present; do
    echo "$case" >&2
    if ! grep -qs "^$case 0 " results; then
        counted "$case" 1 -m full
        note "$case" 0
    fi
    for round in $(seq "$rounds"); do
        seed=$((${FIRST_SEED:-1} + round - 1))
        counted "$case" 1 -m traffic --seed $seed
        note "$case" $seed
    done
done
awk '$1 == "cache" { printf "%s%s %d KiB, %d ways", sep, $2, $4 * $6 / 16, $6; sep = "; " } END { print "" }' numbers
awk '
    function median(key, k, i, j, t) {
        k = n[key]
        for (i = 1; i <= k; i++) s[i] = off[key, i]
        for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++) if (s[j] < s[i]) { t = s[i]; s[i] = s[j]; s[j] = t }
        return k % 2 ? s[(k + 1) / 2] : (s[k / 2] + s[k / 2 + 1]) / 2
    }
    function percent(x) { return x == UNKNOWN ? "any" : sprintf("%.2f", x) }
    BEGIN { UNKNOWN = 1e30 }
    { key = $1 " " $3 }
    $2 == 0 { truth[key] = $4; name[key] = $1; level[key] = $3; order[++m] = key; next }
    {
        if (truth[key] <= 0) next
        i = ++n[key]
        d = $4 - truth[key]; if (d < 0) d = -d
        off[key, i] = 100 * d / truth[key]
        if ($3 == "L1") next
        stated = $5 == "inf" ? UNKNOWN : 100 * $5 / truth[key]
        if (i == 1 || stated < least[key]) least[key] = stated
        if (stated > most[key]) most[key] = stated
        if (off[key, i] > stated) understated[key]++
    }
    END {
        printf "%-12s %-5s %15s %10s %8s  %-18s\n", "program", "level", "true bytes", "off, median", "worst", "stated, %"
        for (j = 1; j <= m; j++) {
            key = order[j]
            if (!n[key]) continue
            middle = median(key)
            worst = s[n[key]]
            remark = ""
            if (understated[key]) remark = "  UNDERSTATED " understated[key] " of " n[key]
            if (worst > 3 && name[key] !~ /^(columns|bzip2|sqlite)$/) remark = remark "  OVER 3 %"
            if (remark != "") bad = 1
            printf "%-12s %-5s %15.0f %9.2f %% %6.2f %%  %-18s%s\n", name[key], level[key], truth[key], middle, worst,
                level[key] == "L1" ? "counted" : percent(least[key]) " - " percent(most[key]), remark
        }
        exit bad
    }' results || bad=1

# judge WHAT EXPECTED FOUND PERCENT
judge() {
    awk -v w="$1" -v e="$2" -v f="$3" -v p="$4" 'BEGIN {
        off = e > 0 ? 100 * (f - e) / e : 0
        bad = e <= 0 || off > p || off < -p
        printf "%-42s %14.0f %14.0f %+8.3f %%%s\n", w, e, f, off, bad ? "  OVER " p " %" : ""
        exit bad
    }' || bad=1
}
# moved LEVEL KINDS...: bytes of these kinds that crossed the boundary on that level's outer side.
moved() {
    awk -v l="$1" -v kinds="$2" '$1 == "level" && $2 == l { for (i = 3; i < NF; i += 2) if (index(kinds, $i)) sum += $(i + 1) }
        END { printf "%.0f", sum }' numbers
}
last=$(awk '$1 == "level" { l = $2 } END { print l }' numbers)
caches=$(awk '$1 == "cache" && $2 == "L1" { printf "%d,%d,64", $4 * $6 * 64, $6 }' numbers)
printf '\n%-42s %14s %14s\n' "followed in full" expected found
# What the first filling writes and what stays dirty at the end is the same for 20 rounds and for 40.
counted triad 1 -m full
once=$(moved "$last" "reads allocates writebacks nt")
counted triad 2 -m full
judge "triad, 20 rounds more: bytes of DRAM" $((20 * 32 * 8000000)) $(($(moved "$last" "reads allocates writebacks nt") - once)) 0.1
if command -v valgrind >/dev/null; then
    for kernel in $kernels; do
        misses=$(valgrind --tool=cachegrind --cache-sim=yes --D1="$caches" --LL=8388608,16,64 \
            --cachegrind-out-file=/dev/null ./numeric "$kernel" 1 2>&1 >/dev/null | awk '/D1  misses/ { gsub(",", ""); print $4 }')
        $fixed "$program" count -m full -o numbers -- ./numeric "$kernel" 1 >/dev/null
        judge "$kernel, once: misses of L1, cachegrind" "${misses:-0}" $(($(moved L1 "reads allocates nt") / 64)) 1
    done
else
    echo "valgrind is not installed: without cachegrind"
fi
exit $bad
