#!/bin/sh
# Usage: sampling.sh PROGRAM [ROUNDS [FOLDER]]
# What the timed run of `roofline record` costs and how true it is. Cost: a kernel's own time while it is sampled over
# its time alone, in alternation. Truth: three functions that time themselves by their threads' processor clocks; how
# many points their shares are off at the most.
set -eu
program=$(realpath "$1")
rounds=${2:-3}
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
export LC_ALL=C NUMERIC_TIME=1
"$cc" -O3 -march=haswell -o "$folder/numeric" "$source/tests/engine/programs/numeric.c"
"$cc" -O2 -g -D_GNU_SOURCE -pthread -I "$source/include" -o "$folder/shares" "$source/tests/programs/shares.c" "$region"

# record METHOD COMMAND...: only the timed run.
record() {
    method=$1
    shift
    "$program" record -q --count none --sampling "$method" --functions -o "$folder/profile.json" -- "$@"
}

# cost KERNEL REPEATS METHOD: a line "KERNEL METHOD seconds".
cost() {
    case $3 in
    none) "$folder/numeric" "$1" "$2" ;;
    *) record "$3" "$folder/numeric" "$1" "$2" ;;
    esac 2>"$folder/errors" >/dev/null || { cat "$folder/errors" >&2; exit 1; }
    awk -v k="$1" -v m="$3" '$1 == "seconds" { print k, m, $2; found = 1 } END { exit !found }' "$folder/errors" \
        >>"$folder/costs" || { echo "sampling: $1 did not say how long it took:" >&2; cat "$folder/errors" >&2; exit 1; }
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
echo "sampling:$methods, $rounds rounds: about $((rounds * 20 / 60 + 1)) minutes"
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    for kernel in "triad 60" "stencil 45" "dgemm_tiled 40"; do
        for method in none $methods; do cost $kernel "$method"; done
    done
    for method in $methods; do
        for threads in 1 2; do truth "$method" "$threads"; done
    done
done
awk '
    function median(key, i, j, t, k) {
        k = n[key]
        for (i = 1; i <= k; i++) s[i] = v[key, i]
        for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++) if (s[j] < s[i]) { t = s[i]; s[i] = s[j]; s[j] = t }
        return k % 2 ? s[(k + 1) / 2] : (s[k / 2] + s[k / 2 + 1]) / 2
    }
    # Each round'"'"'s runs are neighbours in time: their ratio, then the median of the rounds.
    function extra(kernel, method, key, i, base) {
        key = kernel " " method
        base = kernel " none"
        if (!n[key]) return "-"
        for (i = 1; i <= n[key]; i++) v["ratio", i] = 100 * (v[key, i] / v[base, i] - 1)
        n["ratio"] = n[key]
        i = median("ratio")
        return sprintf("%+.1f %% (%+.1f to %+.1f)", i, s[1], s[n["ratio"]])
    }
    FILENAME ~ /costs$/ { key = $1 " " $2; v[key, ++n[key]] = $3; if (!($1 in had)) { had[$1] = 1; kernel[++m] = $1 } next }
    { key = $1 " on " $2 " threads"; if ($3 > most[key] || !(key in most)) most[key] = $3; if (!(key in rows)) { rows[key] = 1; row[++r] = key } }
    END {
        printf "%-14s %10s %24s %24s\n", "kernel", "alone", "sampled by perf", "by timers"
        for (i = 1; i <= m; i++) {
            printf "%-14s %8.3f s", kernel[i], median(kernel[i] " none")
            for (j = 1; j <= split("perf timer", method, " "); j++) printf " %24s", extra(kernel[i], method[j])
            print ""
        }
        print "\nlargest error of a function'"'"'s share, all rounds"
        for (i = 1; i <= r; i++) printf "%-22s %.2f points\n", row[i], most[row[i]]
    }' "$folder/costs" "$folder/truths"
