#!/bin/sh
# The traffic model end to end.
#   [TRAFFIC_OPTIONS=OPTION…] traffic.sh CASE ENGINE TOOL PROGRAMS
# CASE: forms | repeats | across | steps | streams | workers | analytic | regions | cachegrind | sampled | foreign | same | commands. PROGRAMS: folder of the engine-* programs.
set -u
case=$1 engine=$2 tool=$3 programs=$4
work=$(mktemp -d /dev/shm/rl-traffic.XXXXXX 2>/dev/null || mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/plain.sh"
engine=$(plain_engine "$engine" "$work")
bad=0
complain() { echo "$*"; bad=1; }

# traffic OUT OPTIONS… -- PROGRAM ARGUMENTS…
traffic() {
    out=$1; shift
    options=${TRAFFIC_OPTIONS:-}
    while [ "$1" != -- ]; do options="$options $1"; shift; done
    shift
    rm -f "$work"/r.*
    "$tool" $options "$engine" "$work/r" "$@" > "$out" 2> "$work/err" < /dev/null
    grep -qx "lost 0" "$out" || complain "$*: records were lost"
}

# Lines fetched (reads, write-allocates) or stored past the caches at a level, by the whole object.
fetched() { awk -v l="$1" '$1 == "level" && $2 == l { printf "%.0f", ($5 + $6 + $8) / 64 }' "$2"; }

# within NAME VALUE TRUTH PERCENT
within() {
    awk -v v="$2" -v t="$3" -v p="$4" 'BEGIN { d = v - t; if (d < 0) d = -d; exit !(t > 0 && d <= t * p / 100) }' ||
        complain "$1: $2, expected $3 within $4 %"
}

forms() {
    for options in full exact=1000000000; do
        "$programs/engine-accesses" > "$work/forms"
        [ -s "$work/forms" ] || complain "no forms"
        while read -r form lines; do
            [ "$lines" = 0 ] && continue
            # a form finds what earlier ones left in the cache: run it alone
            traffic "$work/o1" $options object=/engine-accesses -- "$programs/engine-accesses" "$form"
            got=$(awk -v f="$form" '$1 == "function" && $2 == f { printf "%.0f", $5 / 64 }' "$work/o1")
            awk -v g="${got:-0}" -v l="$lines" 'BEGIN { exit !(g >= l && g <= l + 8) }' ||
                complain "$form ($options): ${got:-0} lines, expected $lines"
        done < "$work/forms"
    done
}

# Line by line what a naive model says. Repeated accesses are not recorded; nothing may be missed for
# that, whatever the sets: as many as there are classes of lines, more, fewer, odd numbers.
repeats() {
    for levels in "64 8 128 4" "16 2 64 4" "1 4 3 8" "128 1 256 2" "48 3 96 4"; do
        set -- $levels
        for seed in 1 2 3; do
            traffic "$work/o" full levels=$1x$2,$3x$4 object=/engine-repeats -- "$programs/engine-repeats" $seed $levels
            awk '
                $1 == "expect" { for (i = 2; i <= 7; i++) expected[i] = $i }
                $1 == "moved" && $2 == "walk" {
                    for (i = 3; i <= 8; i++) {
                        more = $i - expected[i - 1]
                        stale = (i == 5 || i == 8) ? 8 : 0
                        if (more < 0 || more > stale) bad = 1
                    }
                    seen = 1
                    moved = $0
                }
                END { if (bad || !seen) { printf "%s, expected", moved; for (i = 2; i <= 7; i++) printf " %d", expected[i]; print ""; exit 1 } }
            ' "$work/err" "$work/o" || complain "repeats ($levels, seed $seed)"
        done
    done
}

# Accesses through one register to two neighbouring lines, again and again: which of them are dirty
# in the end, and in the code of sampling, even where it wants everything, hardly a record.
across() {
    for options in full exact=1000000000; do
        traffic "$work/o" $options object=/engine-across -- "$programs/engine-across"
        expected=$(awk '$1 == "expect" { print $2 }' "$work/err")
        awk -v e="${expected:-0}" '$1 == "moved" && $2 == "sweep" { found = $5 }
            END { exit !(e > 0 && found >= e && found <= e + 8) }' "$work/o" ||
            complain "across ($options): $(grep '^moved sweep' "$work/o"), expected ${expected:-nothing} written back"
    done
    awk '$1 == "records" { exit !($2 < 200000) }' "$work/o" || # of a million accesses
        complain "across: $(grep '^records' "$work/o")"
}

# Loops that are only asked when they come to another wanted line: the same lines as in full mode,
# whatever the ways; where a loop touches more lines than a set has ways, or its addresses take too
# many registers, each time round.
steps() {
    for levels in 64x8,1024x8,32768x16 64x4,256x8,4096x16 64x12,1024x8,32768x16; do
        traffic "$work/full" full levels=$levels object=/engine-steps -- "$programs/engine-steps"
        traffic "$work/part" exact=1000000000 levels=$levels object=/engine-steps -- "$programs/engine-steps"
        awk '
            FILENAME == ARGV[1] { if ($1 == "steps") wanted[$2] = 1; next }
            $1 != "moved" || !($2 in wanted) { next }
            FILENAME == ARGV[2] { for (i = 3; i <= 8; i++) truth[$2, i] = $i; next }
            {
                for (i = 3; i <= 8; i++) {
                    off = $i - truth[$2, i]
                    if (off < 0) off = -off
                    # written back is also what the stack and the loader left dirty, which varies
                    if (off > (i % 3 == 2 ? 32 : 8) + 0.003 * truth[$2, i]) { printf "%s: %s, expected %d in column %d\n", $2, $0, truth[$2, i], i; bad = 1 }
                }
                n_seen++
            }
            END { exit bad || n_seen < 18 }
        ' "$work/err" "$work/full" "$work/part" || complain "steps ($levels)"
    done
}

# Several workers that share the model: line by line what the naive model says. Of a kernel whose
# addresses are fixed, the same to the last line.
workers() {
    for n in 2 3; do
        TRAFFIC_OPTIONS=workers=$n
        repeats
    done
    setarch -R true 2> /dev/null || return
    for n in 1 2 3; do
        TRAFFIC_OPTIONS=workers=$n
        traffic "$work/o$n" full object=/engine-numeric -- setarch -R "$programs/engine-numeric" dgemm 1
        grep '^moved dgemm ' "$work/o$n" > "$work/w$n" || complain "workers: nothing of $n"
        grep -qx 'malformed 0' "$work/o$n" || complain "workers: $(grep '^malformed' "$work/o$n")"
        cmp -s "$work/w1" "$work/w$n" || complain "workers: $n say $(diff "$work/w1" "$work/w$n")"
    done
}

# What streams ask of L3 is what moves there, whatever its policy: what is driven out of L2 unwritten
# to make room in a victim level is no write-back, though it was written once.
streams() {
    for last in x16v x16 x16i x15v; do
        for options in full exact=300000; do
            traffic "$work/o" $options levels=64x8,1024x8,4096$last object=/engine-streams -- "$programs/engine-streams"
            awk '
                function off(found, expected, by) { d = found - expected; return d > by || d < -by }
                $1 == "expect" { reads[$2] = $3; allocates[$2] = $4; writes[$2] = $5; total[$2] = $3 + $4 + $5 }
                $1 == "moved" && $2 in total {
                    few = 0.01 * total[$2] # estimated: lines of all classes are alike
                    held = 9000            # L1 and L2
                    if (off($6, reads[$2], few) || off($7, allocates[$2], few) || off($8, writes[$2], few + held)) { print; bad = 1 }
                    n++
                }
                END { exit bad || n != 3 }
            ' "$work/err" "$work/o" || complain "streams ($last, $options): $(tr '\n' ' ' < "$work/err")"
        done
    done
}

analytic() { # N = 8e6 doubles, R rounds: 24 N R bytes in, 8 N R out, at every level
    rounds=3
    traffic "$work/o" full object=/engine-numeric -- "$programs/engine-numeric" triad $rounds
    set -- $(awk '$1 == "function" && $2 ~ /^triad/ { print $3, $4, $5 }' "$work/o")
    within "triad L1" "$1" $((32 * 8000000 * rounds)) 0.1
    within "triad DRAM, with what the arrays' first filling left dirty" "$3" $((32 * 8000000 * rounds + 22 * 1000000)) 0.5
    within "triad fetches from DRAM" "$(fetched 3 "$work/o")" $(((24 * 8000000 * rounds + 24 * 8000000) / 64)) 0.1
}

# Every line is read once, so it crosses all boundaries once, in its region.
regions() {
    traffic "$work/full" full object=/engine-regional -- "$programs/engine-regional"
    traffic "$work/two" full workers=2 object=/engine-regional -- "$programs/engine-regional"
    traffic "$work/part" exact=20000 step=200 object=/engine-regional -- "$programs/engine-regional"
    grep -q '^expect' "$work/err" || complain "no expectations"
    while read -r word region lines; do
        [ "$word" = expect ] || continue
        for run in full two; do
            set -- $(awk -v r="$region" '$1 == "region" && $2 == r { print $3, $4, $5 }' "$work/$run")
            for bytes in "$@"; do within "$region ($run)" "$bytes" $((64 * lines)) 0.5; done
            [ $# = 3 ] || complain "$region ($run): no traffic"
        done
        awk -v r="$region" -v t=$((64 * lines)) '$1 == "region" && $2 == r {
            for (l = 3; l <= 5; l++) {
                off = $l - t; if (off < 0) off = -off
                printf "%-6s L%d %10.0f  off %6.2f %%  stated %6.2f %%\n", r, l - 2, t, 100 * off / t, 100 * $(l + 3) / t
                if ($(l + 3) != "inf" && off > $(l + 3)) { print "  stated too little"; bad = 1 }
            }
            seen = 1
        } END { exit bad || !seen }' "$work/part" || complain "$region (sampled)"
    done < "$work/err"
}

cachegrind() {
    command -v valgrind > /dev/null || { echo "skipped: valgrind is not installed"; exit 77; }
    for kernel in dgemm triad spmv columns; do
        misses=$(valgrind --tool=cachegrind --cache-sim=yes --D1=32768,8,64 --LL=8388608,16,64 \
            --cachegrind-out-file=/dev/null "$programs/engine-numeric" $kernel 1 2>&1 |
            awk '/D1  misses/ { gsub(",", ""); print $4 }')
        traffic "$work/o" full levels=64x8,1024x8,8192x16 -- "$programs/engine-numeric" $kernel 1
        within "$kernel: D1 misses" "$(fetched 1 "$work/o")" "$misses" 1
    done
}

sampled() {
    for run in "triad 5" "stencil 5" "dgemm 1" "dgemm_tiled 1" "spmv 4" "columns 3" "column 1"; do
        set -- $run
        traffic "$work/full" full object=/engine-numeric -- "$programs/engine-numeric" $1 $2
        traffic "$work/part" exact=300000 object=/engine-numeric -- "$programs/engine-numeric" $1 $2
        awk -v kernel="$1" '
            $1 != "level" { next }
            FNR == NR { truth[$2] = $3; next }
            {
                off = $3 - truth[$2]; if (off < 0) off = -off
                printf "%-12s L%d %14.0f  off %6.2f %%  stated %6.2f %%\n", kernel, $2, truth[$2],
                       truth[$2] ? 100 * off / truth[$2] : 0, $3 ? 100 * $4 / $3 : 0
                if ($4 != "inf" && off > $4) { print "  stated too little"; bad = 1 }
                # beyond the caches a small matrix moves next to nothing: no percentage of that
                if (kernel !~ /^column/ && truth[$2] > 1e8 && off > 0.03 * truth[$2]) { print "  off by more than 3 %"; bad = 1 }
            }
            END { exit bad }' "$work/full" "$work/part" || bad=1
    done
}

foreign() { # an engine and a reader that were not built together: said, and the program runs on
    for mode in full exact=0; do
        "$tool" foreign $mode "$engine" "$work/r" sh -c 'echo done' > "$work/o" 2> "$work/err"
        grep -q 'another version' "$work/err" || complain "foreign ($mode): no message: $(cat "$work/err")"
        grep -qx 'done' "$work/err" || complain "foreign ($mode): the program did not run"
        grep -qx 'status 0' "$work/o" || complain "foreign ($mode): $(head -1 "$work/o")"
        grep -qx 'processes 0' "$work/o" || complain "foreign ($mode): it was traced all the same"
    done
}

same() { # same output and status as natively, threads, processes, signals and all
    for run in "threads" "processes" "signals" "stacks" "amx" "faults" "rewriting" "storm 300" "random_code 7 1500"; do
        set -- $run
        program=$programs/engine-$1; shift
        "$program" "$@" > "$work/native" 2> /dev/null < /dev/null; native=$?
        for mode in full exact=0; do
            traffic "$work/o" $mode -- "$program" "$@"
            grep -v '^expect' "$work/err" | cmp -s - "$work/native" || complain "$run ($mode): other output"
            grep -qx "status $native" "$work/o" || complain "$run ($mode): $(head -1 "$work/o"), natively $native"
        done
    done
}

commands() { # what users have: the same output, and counted to the end
    tr -d '\n' < /dev/urandom 2>/dev/null | head -c 200000 > "$work/data"
    while IFS= read -r line; do
        command -v "${line%% *}" > /dev/null || continue
        sh -c "$line" > "$work/native" 2> /dev/null < "$work/data"; native=$?
        for mode in full exact=0; do
            "$tool" $mode "$engine" "$work/r" sh -c "exec $line" > "$work/o" 2> "$work/err" < "$work/data"
            cmp -s "$work/err" "$work/native" || complain "$line ($mode): other output"
            grep -qx "status $native" "$work/o" || complain "$line ($mode): $(head -1 "$work/o"), natively $native"
            grep -qx "unfinished 0" "$work/o" || complain "$line ($mode): not counted to the end"
            rm -f "$work"/r.*
        done
    done << 'END'
cat
sort -r
gzip -9 -c
xz -0 -c
bzip2 -c
sha256sum
od -x
awk 'BEGIN { for (i = 0; i < 20000; i++) s += i * 1.5; print s }'
bash -c 'for ((i = 0; i < 2000; i++)); do x=$((x + i)); done; echo $x'
perl -e 'my %h; $h{$_} = $_ ** 2 for 1 .. 5000; print scalar(keys %h), "\n"'
python3 -c 'print(sum(i * i for i in range(50000)), len({i: str(i) for i in range(5000)}))'
sqlite3 :memory: 'create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all select i+1 from n where i<2000) insert into t select i, i*7919 from n; select count(*), sum(a) from t where b like "1%";'
sh -c 'for i in 1 2 3 4 5; do (echo $i; ls /) | wc -l & done; wait'
gcc -O1 -x c -S -o - /dev/null
END
}

$case
exit $bad
