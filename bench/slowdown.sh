#!/bin/sh
# Usage: slowdown.sh PROGRAM [ROUNDS [FOLDER [PART...]]]
# How many times slower programs run under the counting engine: processor time over that of the same program by itself,
# in alternation, beside Valgrind. Parts: numeric blas threads bzip2 xz sqlite python cc1; all of them if none is
# named. Valgrind knows no AVX-512 and may need hundreds of times as long: it gets less work, its own native runs, and
# one round (VALGRIND_ROUNDS). MODES of `roofline count`: translate count traffic if not set. FOLDER keeps what was
# built and measured, and adds to what earlier runs left there.
set -eu
program=$(realpath "$1")
rounds=${2:-3}
folder=${3:-}
source=$(cd "$(dirname "$0")/.." && pwd)
if [ $# -gt 3 ]; then shift 3; parts=$*; else parts="numeric blas threads bzip2 xz sqlite python cc1"; fi
kernels="triad stencil dgemm dgemm_tiled spmv"
cc=${CC:-cc}
command -v "$cc" >/dev/null || { echo "skipped: no C compiler"; exit 0; }
"$program" count -o /dev/null -- true || { echo "skipped: the counting engine does not work here"; exit 0; }
if [ -z "$folder" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"
folder=$(realpath "$folder")
modes="native ${MODES:-translate count traffic}"
valgrind_rounds=${VALGRIND_ROUNDS:-1}
command -v valgrind >/dev/null || { echo "valgrind is not installed: without it"; valgrind_rounds=0; }
export LC_ALL=C NUMERIC_TIME=1
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE || true

# What is run. A case is a program with one input; `work` is `long`, or `short` for Valgrind.

cases_of() {
    case $1 in
    numeric) echo "$kernels" ;;
    blas) [ ! -x "$folder/blas" ] || echo openblas ;;
    threads) echo two_threads ;;
    bzip2 | xz) command -v "$1" >/dev/null && echo "$1" || true ;;
    sqlite) command -v sqlite3 >/dev/null && echo sqlite || true ;;
    python) [ -z "$python" ] || echo python ;;
    cc1) [ ! -x "$cc1" ] || echo cc1 ;;
    *) echo "slowdown: no part '$1'; there are numeric blas threads bzip2 xz sqlite python cc1" >&2; exit 2 ;;
    esac
}

# run_case CASE WORK PREFIX...: the case's command, after the words of PREFIX.
run_case() {
    case=$1 work=$2
    shift 2
    pick() { [ "$work" = long ] && echo "$1" || echo "$2"; }
    case $case in
    triad) "$@" "$folder/numeric" triad "$(pick 150 10)" ;;
    stencil) "$@" "$folder/numeric" stencil "$(pick 120 8)" ;;
    dgemm) "$@" "$folder/numeric" dgemm "$(pick 100 2)" ;;
    dgemm_tiled) "$@" "$folder/numeric" dgemm_tiled "$(pick 40 1)" ;;
    spmv) "$@" "$folder/numeric" spmv "$(pick 60 4)" ;;
    openblas) OPENBLAS_NUM_THREADS=1 "$@" "$folder/blas" "$(pick 2400 300)" "$(pick 3 10)" ;;
    two_threads) "$@" "$folder/threads" "$(pick 110 2)" ;;
    bzip2) "$@" bzip2 -k -c "$folder/text.$work" ;;
    xz) "$@" xz -1 -T1 -k -c "$folder/text.$work" ;;
    sqlite) "$@" sqlite3 :memory: ".read $folder/work.$work.sql" ;;
    python) "$@" "$python" "$folder/loop.py" "$(pick 130 20)" ;;
    cc1) "$@" "$cc1" -quiet -O2 -o /dev/null "$folder/work.$work.c" ;;
    esac >/dev/null
}

build() {
    sources=$source/tests/engine/programs
    "$cc" -O3 -march=haswell -o "$folder/numeric" "$sources/numeric.c"
    "$cc" -O3 -march=haswell -pthread -o "$folder/threads" "$source/bench/threads.c"
    if ! "$cc" -O2 -o "$folder/blas" "$source/bench/blas.c" -ldl || ! "$folder/blas" 8 1 >/dev/null 2>&1; then
        rm -f "$folder/blas"
        echo "OpenBLAS is not installed: without it"
    fi
    for python in /usr/bin/python3 "$(command -v python3 || true)" ''; do # not a script that starts another one
        [ -z "$python" ] || [ ! -x "$python" ] || break
    done
    cc1=$("$cc" -print-prog-name=cc1 2>/dev/null || true)
    (cd "$source" && find src include docs data tests -type f | sort | xargs cat "$program") >"$folder/text"
    cat "$folder/text" "$folder/text" | head -c 14000000 >"$folder/text.long"
    head -c 2500000 "$folder/text" >"$folder/text.short"
    sed 's/ROWS/600000/' "$source/bench/work.sql" >"$folder/work.long.sql"
    sed 's/ROWS/50000/' "$source/bench/work.sql" >"$folder/work.short.sql"
    cat >"$folder/loop.py" <<'END'
import sys
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps
lengths = {}
for n in range(1, int(sys.argv[1]) * 1500):
    k = collatz(n)
    lengths[k] = lengths.get(k, 0) + 1
print(sum(k * v for k, v in lengths.items()))
END
    write_c 50 >"$folder/work.long.c"
    write_c 12 >"$folder/work.short.c"
}

# Functions of six kinds with names and constants of their own.
write_c() {
    echo 'struct list { struct list *next; long key; double weight; char name[24]; };'
    echo 'double sqrt(double); void *malloc(unsigned long); int strcmp(const char *, const char *);'
    for i in $(seq "$1"); do
        cat <<END
double dot$i(const double *a, const double *b, int n) { double s = 0, t = $i; for (int k = 0; k < n; k++) { s += a[k] * b[k]; if (a[k] > t) t = sqrt(a[k]) + s; } return s / t; }
int parse$i(const char *s) { int v = 0, sign = 1; for (;; s++) switch (*s) { case '-': sign = -sign; break; case '0' ... '9': v = v * 10 + (*s - '0'); break; case 'x': v ^= $i; break; case 'k': v <<= 2; break; case ' ': case ',': v += $i % 7; continue; case 0: return sign * v; default: return -1; } }
struct list *insert$i(struct list **at, long key, const char *name) { while (*at && (*at)->key < key) at = &(*at)->next; if (*at && (*at)->key == key) { (*at)->weight += $i.5; return *at; } struct list *l = malloc(sizeof *l); l->next = *at; l->key = key; l->weight = $i; for (int k = 0; k < 23 && (l->name[k] = name[k]); k++) ; return *at = l; }
unsigned long mix$i(unsigned long h, const unsigned char *p, unsigned n) { while (n >= 8) { unsigned long w = 0; for (int k = 0; k < 8; k++) w |= (unsigned long)p[k] << 8 * k; h = (h ^ w * 0x9E3779B97F4A7C15ul) << ($i % 31 + 1) | h >> (63 - $i % 31); p += 8; n -= 8; } while (n--) h = h * $i + *p++; return h; }
void sort$i(struct list *v, int n) { for (int gap = n / 2; gap > 0; gap /= 2) for (int k = gap; k < n; k++) { struct list t = v[k]; int m = k; for (; m >= gap && (v[m - gap].key > t.key || (v[m - gap].key == t.key && strcmp(v[m - gap].name, t.name) > 0)); m -= gap) v[m] = v[m - gap]; v[m] = t; } }
void smooth$i(float (*g)[64], float (*o)[64]) { for (int y = 1; y < 63; y++) for (int x = 1; x < 63; x++) o[y][x] = g[y][x] * 0.${i}f + (g[y - 1][x] + g[y + 1][x] + g[y][x - 1] + g[y][x + 1]) * 0.25f; }
END
    done
}

# One run: a line "CASE WORK MODE processor-seconds reader's-seconds kernel's-seconds"; 0 where there is none.
measure() {
    case $3 in
    none) run_case "$1" "$2" "$program" count -m native -o "$folder/numbers" -- valgrind -q --tool=none ;;
    cachegrind) run_case "$1" "$2" "$program" count -m native -o "$folder/numbers" -- \
        valgrind -q --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null ;;
    *) run_case "$1" "$2" "$program" count -m "$3" -o "$folder/numbers" -- ;;
    esac 2>"$folder/errors" || { echo "slowdown: $1 under $3 failed:" >&2; cat "$folder/errors" >&2; exit 1; }
    kernel=$(awk '$1 == "seconds" { print $2 }' "$folder/errors")
    awk -v c="$1" -v w="$2" -v m="$3" -v k="${kernel:-0}" '
        $1 == "program_cpu_s" { p = $2 } $1 == "reader_cpu_s" { r = $2 }
        END { printf "%s %s %s %.4f %.4f %s\n", c, w, m, p, r, k }' "$folder/numbers" >>"$folder/results"
}

table() {
    awk '
    { key = $1 " " $2 " " $3; n[key]++; i = n[key]; cpu[key, i] = $4; all[key, i] = $4 + $5; own[key, i] = $6
      if (!($1 in seen)) { seen[$1] = 1; order[++m] = $1 } }
    function median(v, key, scale, i, j, t, k, s) {
        k = n[key]
        for (i = 1; i <= k; i++) s[i] = v[key, i] / scale
        for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++) if (s[j] < s[i]) { t = s[i]; s[i] = s[j]; s[j] = t }
        low = s[1]; high = s[k]
        return k % 2 ? s[(k + 1) / 2] : (s[k / 2] + s[k / 2 + 1]) / 2
    }
    function digits(x) { return x < 10 ? sprintf("%.2f", x) : sprintf("%.0f", x) }
    function ratio(v, case_, work, mode, key, base, mid) {
        key = case_ " " work " " mode
        if (!n[key]) return "-"
        base = median(v, case_ " " work " native", 1)
        if (base <= 0) return "-"
        mid = median(v, key, base)
        return n[key] == 1 ? digits(mid) : digits(mid) " (" digits(low) "-" digits(high) ")"
    }
    function row(name, v, c) {
        printf "%-22s %8.2f  %-18s %-18s %-18s %-18s %-10s %s\n", name, median(v, c " long native", 1),
            ratio(v, c, "long", "translate"), ratio(v, c, "long", "count"), ratio(v, c, "long", "traffic"),
            v_is_own ? "" : reader(c), ratio(v, c, "short", "none"), ratio(v, c, "short", "cachegrind")
    }
    function reader(c, base) { # natively nothing is read
        base = median(cpu, c " long native", 1)
        return n[c " long traffic"] ? digits(median(all, c " long traffic", base)) : "-"
    }
    END {
        printf "%-22s %8s  %-18s %-18s %-18s %-18s %-10s %s\n", "program", "native s", "translated", "counted", "traffic",
            "traffic and reader", "valgrind", "cachegrind"
        for (i = 1; i <= m; i++) {
            c = order[i]
            v_is_own = 0; row(c, cpu, c)
            if (own[c " long native", 1] > 0) { v_is_own = 1; row("  its kernel alone", own, c) }
        }
    }' "$folder/results"
}

build
all=
for part in $parts; do all="$all $(cases_of "$part")"; done
set -- $all
[ $# -gt 0 ] || { echo "skipped: none of these programs is installed"; exit 0; }
echo "$# programs, $rounds rounds of $(echo $modes | wc -w) runs and $valgrind_rounds under Valgrind: about $(($# * (3 * rounds * $(echo $modes | wc -w) + 25 * valgrind_rounds) / 60 + 1)) minutes"
done=0
for case in "$@"; do
    done=$((done + 1))
    echo "$done of $#: $case" >&2
    for round in $(seq "$rounds"); do
        for mode in $modes; do measure "$case" long $mode; done
    done
    for round in $(seq "$valgrind_rounds"); do
        for mode in native none cachegrind; do measure "$case" short $mode; done
    done
done
echo "processor time over that of the program alone: median of rounds (least-most)"
table
