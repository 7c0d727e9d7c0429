#!/bin/sh
# Usage: sampling.sh PROGRAM [ROUNDS [FOLDER]]
# What the timed run of `roofline record` costs and how true it is. Cost: kernels switch their own samples off and on, ten
# times a second (alternate.c); "alone" is without any to switch, which shows what the machine adds. Truth: three functions
# that time themselves by their threads' processor clocks; how many points their shares are off at the most, in three of
# the rounds. To the rounds that lie in FOLDER already these are added, so that many can be measured bit by bit.
set -eu
program=$(realpath "$1")
rounds=${2:-4}
folder=${3:-}
source=$(cd "$(dirname "$0")/.." && pwd)
region=$(dirname "$program")/src/region/libroofline-region.a
cc=${CC:-cc}
command -v "$cc" >/dev/null || { echo "skipped: no C compiler"; exit 0; }
[ -f "$region" ] || { echo "skipped: $program is not in the folder it was built in"; exit 0; }
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
export LC_ALL=C
"$cc" -O3 -march=haswell -o "$folder/numeric" "$source/tests/engine/programs/numeric.c" "$source/bench/alternate.c"
"$cc" -O2 -g -D_GNU_SOURCE -pthread -I "$source/include" -o "$folder/shares" "$source/tests/programs/shares.c" "$region"

# record METHOD COMMAND...: only the timed run.
record() {
    method=$1
    shift
    "$program" record -q --count none --sampling "$method" --functions -o "$folder/profile.json" -- "$@"
}

# cost KERNEL REPEATS METHOD ROUND: lines "KERNEL METHOD ROUND cpu wall", one for each four blocks.
cost() {
    case $3 in
    alone) "$folder/numeric" "$1" "$2" ;;
    *) record "$3" "$folder/numeric" "$1" "$2" ;;
    esac 2>"$folder/errors" >/dev/null || { cat "$folder/errors" >&2; exit 1; }
    awk -v k="$1" -v m="$3" -v r="$4" '
        $1 == "four" { print k, m, r, $2, $3; found = 1 }
        END { exit !found }' "$folder/errors" >>"$folder/costs" ||
        { echo "sampling: $1 did not say how long it took:" >&2; cat "$folder/errors" >&2; exit 1; }
}

# truth METHOD THREADS: a line "METHOD THREADS points".
truth() {
    rm -f "$folder/truth"
    record "$1" "$folder/shares" "$folder/truth" -t "$2" -m 4000
    awk -F'[":, ]+' -v m="$1" -v t="$2" '
        FNR == NR { split($0, w, " "); is[w[1]] += w[4]; all += w[4]; next }
        $2 == "name" && $3 ~ /^(alpha|beta|gamma_?)$/ { name = $3; sub(/_$/, "", name) }
        $2 == "time_s" || $2 == "threads" { want = name; what = $2 }
        want != "" && $2 == "value" && what == "time_s" { time = $3; want = "" }
        want != "" && $2 == "value" && what == "threads" { # time is elapsed time, shared by so many threads
            seen[want] += time * $3; sum += time * $3; want = name = ""
        }
        END {
            for (f in is) { d = 100 * (seen[f] / sum - is[f] / all); if (d < 0) d = -d; if (d > most) most = d }
            printf "%s %s %.3f\n", m, t, most
        }' "$folder/truth" "$folder/profile.json" >>"$folder/truths"
}

methods=
for method in perf timer; do
    if record "$method" true 2>"$folder/errors"; then methods="$methods $method"; else echo "without $method:"; cat "$folder/errors"; fi
done
echo "sampling:$methods, $rounds rounds: about $((rounds * 2)) minutes"
touch "$folder/costs" "$folder/truths"
before=$(awk '$3 > n { n = $3 } END { print n + 0 }' "$folder/costs")
set -- alone $methods
for round in $(seq $((before + 1)) $((before + rounds))); do
    echo "round $round of $((before + rounds))" >&2
    for kernel in "triad 2200" "stencil 1700" "dgemm_small 1700"; do
        for how in "$@"; do cost $kernel "$how" "$round"; done
        how=$1
        shift
        set -- "$@" "$how"
    done
    [ "$round" -le 3 ] || continue
    for method in $methods; do
        for threads in 1 2; do truth "$method" "$threads"; done
    done
done
awk '
    # The median of all fours, and where that would be found in 95 of 100 repetitions, by rank.
    function extra(key, what, n, i, j, t, k, s) {
        n = count[key]
        for (i = 1; i <= n; i++) s[i] = 100 * (v[key, i, what] - 1)
        for (i = 2; i <= n; i++) {
            t = s[i]
            for (j = i - 1; j >= 1 && s[j] > t; j--) s[j + 1] = s[j]
            s[j + 1] = t
        }
        k = int((n - 1.96 * sqrt(n)) / 2)
        k = k < 1 ? 1 : k
        t = n % 2 ? s[(n + 1) / 2] : (s[n / 2] + s[n / 2 + 1]) / 2
        return sprintf("%+5.2f %% (%+.2f to %+.2f)", t, s[k], s[n + 1 - k])
    }
    FILENAME ~ /costs$/ {
        key = $1 " " $2
        if (!(key in count)) kind[++m] = key
        v[key, ++count[key], "cpu"] = $4
        v[key, count[key], "wall"] = $5
        next
    }
    { key = $1 " on " $2 " threads"; if ($3 > most[key] || !(key in most)) most[key] = $3; if (!(key in rows)) { rows[key] = 1; row[++r] = key } }
    END {
        printf "%-20s %6s %28s %28s\n", "kernel, how", "fours", "more processor time", "more elapsed time"
        for (i = 1; i <= m; i++)
            printf "%-20s %6d %28s %28s\n", kind[i], count[kind[i]], extra(kind[i], "cpu"), extra(kind[i], "wall")
        print "\nlargest error of a function'"'"'s share, three rounds"
        for (i = 1; i <= r; i++) printf "%-22s %.2f points\n", row[i], most[row[i]]
    }' "$folder/costs" "$folder/truths"
