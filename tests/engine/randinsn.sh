#!/bin/sh
# Random instructions do to the machine the same under the engine as natively.
#   randinsn.sh PROGRAM ENGINE FIRST_SEED LAST_SEED SEQUENCES
# Each seed runs with read-only and, a quarter as long, with writable code. Seeds that differ are named;
# `PROGRAM --seed N --each` natively and under the engine finds the sequence, --show N lists it.
set -u
program=$1 engine=$2 first=$3 last=$4 sequences=$5
work=$(mktemp -d) || exit 1
. "$(dirname "$0")/tidy.sh"
tidy "$work"
. "$(dirname "$0")/plain.sh"
engine=$(plain_engine "$engine" "$work")
"$program" --sequences 1 >"$work/probe" 2>&1 || { cat "$work/probe"; exit 77; }

under_engine() {
    LD_PRELOAD=$engine ROOFLINE_ENGINE=mode=count,output=$work/counts "$program" "$@" 2>&1
    rm -f "$work"/counts.*
}

different=0
seed=$first
while [ "$seed" -le "$last" ]; do
    for how in "--sequences $sequences" "--sequences $((sequences / 4)) --rwx --length 40"; do
        # shellcheck disable=SC2086
        native=$("$program" --seed "$seed" $how 2>&1)
        # shellcheck disable=SC2086
        counted=$(under_engine --seed "$seed" $how)
        if [ "$native" != "$counted" ]; then
            echo "seed $seed $how"
            echo "  native: $native"
            echo "  engine: $counted"
            different=$((different + 1))
        fi
    done
    seed=$((seed + 1))
done
echo "seeds $first to $last, $sequences sequences each: $different differ"
[ "$different" -eq 0 ]
