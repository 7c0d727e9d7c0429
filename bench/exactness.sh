#!/bin/sh
# Usage: exactness.sh PROGRAM [ROUNDS [FOLDER]]
# What the counting engine counts against what is right: FLOP by formula, instructions by Valgrind's callgrind and by
# single-stepping, with 1, 2 and 8 threads. Prints a table; fails where a count differs. ROUNDS is not used: counts do
# not vary. OpenBLAS executes a few more FLOP than the formula of the algorithm says, which is shown, not judged.
set -eu
program=$(realpath "$1")
folder=${3:-}
source=$(cd "$(dirname "$0")/.." && pwd)
cc=${CC:-cc}
counts=${ENGINE_COUNTS:-$(dirname "$program")/tests/engine/engine-counts} # built with the tests
preload=$(dirname "$program")/src/count/engine/libroofline-engine.so
command -v "$cc" >/dev/null || { echo "skipped: no C compiler"; exit 77; }
"$program" count -o /dev/null -- true || { echo "skipped: the counting engine does not work here"; exit 77; }
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
cd "$folder"
export LC_ALL=C
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE || true
engine=$source/tests/engine
"$cc" -O3 -o numeric "$engine/programs/numeric.c"
"$cc" -O3 -march=native -o numeric_wide "$engine/programs/numeric.c"
# Bound at start, since two threads may each bind a function at its first call.
"$cc" -O3 -pthread -Wl,-z,now -o threads "$source/bench/threads.c"
"$cc" -O2 -o blas "$source/bench/blas.c" -ldl
"$cc" -O2 -o singlestep "$engine/singlestep.c"
for name in calls kernels; do
    "$cc" -O2 -g -D_GNU_SOURCE -I"$source/src" -o $name "$engine/programs/$name.c"
done

bad=0
# row NAME THREADS AGAINST EXPECTED COUNTED [nojudge]
row() {
    verdict=equal
    [ "$4" = "$5" ] || verdict=$(awk -v e="$4" -v c="$5" 'BEGIN { printf "%+.0f, %+.2g %%", c - e, 100 * (c - e) / e }')
    [ "$verdict" = equal ] || [ $# -gt 5 ] || bad=1
    printf '%-24s %7s  %-28s %14s %14s  %s\n' "$1" "$2" "$3" "$4" "$5" "$verdict"
}
# counted KEY WORDS...: a number of the run of WORDS
counted() {
    key=$1
    shift
    rm -f numbers
    "$program" count -o numbers "$@" >/dev/null 2>&1 || [ -s numbers ] || { echo "failed"; return; }
    awk -v k="$key" '$1 == k { print $2 }' numbers
}
formula() { awk "BEGIN { printf \"%.0f\", $1 }"; }

printf '%-24s %7s  %-28s %14s %14s\n' program threads 'expected from' expected counted
# Filling an array adds 1 to each element; the timer around the kernel takes 5 FLOP.
for binary in numeric numeric_wide; do
    row "$binary triad" 1 "2 N R + 3 N + 5" "$(formula '2 * 8e6 * 3 + 3 * 8e6 + 5')" "$(counted flop -- ./$binary triad 3)"
    row "$binary stencil" 1 "6 (n-2)^3 R + 2 n^3 + 5" "$(formula '6 * 198^3 * 2 + 2 * 200^3 + 5')" "$(counted flop -- ./$binary stencil 2)"
    row "$binary dgemm" 1 "2 n^3 R + 3 n^2 + 5" "$(formula '2 * 500^3 * 2 + 3 * 500^2 + 5')" "$(counted flop -- ./$binary dgemm 2)"
    row "$binary dgemm_tiled" 1 "2 n^3 R + 3 n^2 + 5" "$(formula '2 * 720^3 + 3 * 720^2 + 5')" "$(counted flop -- ./$binary dgemm_tiled 1)"
    row "$binary spmv" 1 "2 nnz R + nnz + x + y + 5" "$(formula '2 * 3.2e6 * 5 + 3.2e6 + 2e6 + 4e5 + 5')" "$(counted flop -- ./$binary spmv 5)"
done
for threads in 1 2 8; do
    row "threads" $threads "2 n^3 R" "$(formula '2 * 480^3 * 4')" "$(counted flop -- ./threads 4 $threads)"
done
if ./blas 8 1 >/dev/null 2>&1; then
    for threads in 1 2 8; do
        row "OpenBLAS dgemm, n = 1000" $threads "2 n^3 (the algorithm's)" 2000000000 \
            "$(OPENBLAS_NUM_THREADS=$threads counted flop -- ./blas 1000 1)" shown
    done
fi
# By function, as the test engine.callgrind does; names that begin with _ belong to the C library's start-up.
if command -v valgrind >/dev/null && [ -x "$counts" ]; then
    for name in calls kernels; do
        valgrind -q --tool=callgrind --skip-plt=no --callgrind-out-file=callgrind ./$name >/dev/null 2>&1 || true
        expected=$(awk -v object="$name" '
            function name_of(field, table,    id, name) {
                id = substr(field, index(field, "("), index(field, ")") - index(field, "(") + 1)
                name = substr(field, index(field, ")") + 2)
                if (name != "") table[id] = name
                return table[id]
            }
            /^c?ob=/ { name = name_of($0, objects); if (/^ob=/) { n = split(name, part, "/"); here = part[n] } next }
            /^c?fn=/ { name = name_of($0, functions); if (/^fn=/) current = name; next }
            /^calls=/ { inclusive = 1; next }
            /^[-+*0-9][^ ]* [0-9]+$/ {
                if (inclusive) inclusive = 0
                else if (here == object && current !~ /^(_|\(|0x|\?)/) sum += $2
            }
            END { printf "%.0f", sum }' callgrind)
        LD_PRELOAD=$preload ROOFLINE_ENGINE=output=$PWD/result ./$name >/dev/null 2>&1 || true
        got=$("$counts" result.*.0 "/$name" | awk '$1 == "function" && $2 !~ /^_/ { sum += $3 } END { printf "%.0f", sum }')
        rm -f result.*
        row $name 1 "callgrind, instructions" "$expected" "$got"
    done
fi
if stepped=$(./singlestep ./threads 1 1 8); then
    row "threads, n = 8" 1 "single-stepping" "${stepped#* }" "$(counted instructions --module /threads -- ./threads 1 1 8)"
    for threads in 2 8; do
        stepped=$(./singlestep ./threads 2 $threads 16)
        row "threads, n = 16" $threads "single-stepping" "${stepped#* }" \
            "$(counted instructions --module /threads -- ./threads 2 $threads 16)"
    done
fi
exit $bad
