#!/bin/sh
# Usage: verdicts.sh PROGRAM [ROUNDS [FOLDER]]
# Textbook kernels and what a roofline must say of them, all by one thread and against the roofs that were measured just
# before: verdict, share of the roof, and the first advice. A busy machine spoils shares; the best of the rounds counts.
set -eu
program=$(realpath "$1")
rounds=${2:-3}
folder=${3:-}
source=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
export LC_ALL=C
bad=0

# expect ROW VERDICTS LEAST MOST ADVICE: of the row whose name begins so in $folder/r<n>.csv, in the best round; VERDICTS
# are words divided by |, shares in %, ADVICE - for any.
expect() {
    best=
    for n in $(seq "$rounds"); do
        [ -f "$folder/$6$n.csv" ] || continue
        line=$(awk -F, -v name="$1" 'index($1, name) == 1 { printf "%.1f %s\n", 100 * $17, $19; exit }' "$folder/$6$n.csv")
        [ -n "$line" ] && best=$(printf '%s\n%s' "$best" "$line")
    done
    best=$(echo "$best" | sort -n | tail -1)
    share=${best% *} verdict=${best#* }
    advice=$(tr -d '\n' <"$folder/$6$n.json" | sed 's/"name": "/\n&/g' | grep -F "\"name\": \"$1" |
        sed -n 's/.*"advice": \[ *{ *"id": "\([^"]*\)".*/\1/p' | head -1)
    said=as-expected
    echo "$verdict" | grep -qxE "$2" || said="expected $2"
    awk -v s="${share:-0}" -v least="$3" -v most="$4" 'BEGIN { exit !(s >= least && s <= most) }' || said="expected $3 to $4 %"
    [ "$5" = - ] || [ "$advice" = "$5" ] || said="expected advice $5"
    [ "$said" = as-expected ] || bad=1
    printf '%-34s %-18s %5s %%  %-20s %s\n' "$1" "$verdict" "$share" "${advice:--}" "$said"
}

# place NAME PROFILE ROUND
place() {
    "$program" report --machine "$folder/m.json" -f csv -o "$folder/$1$3.csv" "$2"
    "$program" report --machine "$folder/m.json" -f json -o "$folder/$1$3.json" "$2"
}

# Memory that is shared with other machines may be twice as fast a minute later: the roof is taken anew for each round.
for n in $(seq "$rounds"); do
    "$program" measure -q --threads 1 -o "$folder/m.json" >/dev/null
    for kernel in triad copy spmv gemm exp; do
        variants=all
        size=
        [ $kernel = gemm ] && variants=naive,vectorised && size='--sizes 512'
        "$program" bench -q --threads 1 --precision fp64 --budget 0.4 --variant $variants $size --machine "$folder/m.json" \
            -o "$folder/p.json" $kernel >/dev/null
        place $kernel "$folder/p.json" "$n"
    done
done
expect 'triad/nontemporal fp64' 'memory:DRAM|above-roof' 80 125 - triad
expect 'copy/nontemporal fp64' 'no-flop|above-roof' 80 125 - copy
expect 'spmv/csr fp64' 'memory:DRAM|above-roof' 70 125 - spmv
expect 'gemm/vectorised fp64' 'compute:fp64.fma' 80 105 - gemm
expect 'gemm/naive fp64' 'latency' 0 20 compute.vectorise gemm
expect 'exp/libmvec fp64' 'compute:fp64.exp' 50 105 - exp
if command -v "${CC:-cc}" >/dev/null; then
    "${CC:-cc}" -O2 -g -o "$folder/chase" "$source/tests/programs/chase.c"
    for n in $(seq "$rounds"); do
        "$program" record -q --functions -o "$folder/p.json" -- "$folder/chase" >/dev/null
        place chase "$folder/p.json" "$n"
    done
    expect 'follow' 'latency' 0 50 latency.chain chase
fi
exit $bad
