#!/bin/sh
# Each command of a list, natively and under the counting engine: same output, same exit status, and counted to its
# end.
#   torture.sh ROOFLINE LIST [MODE [WORK]]
# MODE as of `roofline count`: count (default), translate, traffic, full; launcher: count, all programs started
# by the launcher.
# A line of LIST is a shell command; `#` begins a comment. Lines run in a directory of their own with the inputs made
# below. A line is skipped if its first word is not installed; `[a b] command` names what is needed instead, `numpy`
# and `partly` being special: a $PYTHON that has it; code is expected that the engine leaves uncounted.
set -u
roofline=$1 list=$(realpath "$2") mode=${3:-count}
scratch=$(mktemp -d) || exit 2 # not in /dev/shm, where containers allow no programs
work=${4:-$scratch}
. "$(dirname "$0")/tidy.sh"
tidy "$scratch" TERM # which `timeout` hands on
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE 2> /dev/null
mkdir -p "$work" && cd "$work" || exit 2
seq 1 20000 | sed 's/$/ the quick brown fox jumps over the lazy dog/' > text
head -c 300000 "$(command -v sh)" > binary
cat > small.c <<'END'
#include <stdio.h>
#include <stdlib.h>
struct list { struct list *next; int value; };
static int sum(const struct list *l) { int s = 0; for (; l; l = l->next) s += l->value; return s; }
int main(int argc, char **argv) {
    struct list *l = NULL;
    for (int i = 0; i < argc * 100; i++) {
        struct list *n = malloc(sizeof *n);
        n->next = l; n->value = i; l = n;
    }
    printf("%s %d\n", argv[0] ? "ok" : "no", sum(l));
    return 0;
}
END
cat > small.cc <<'END'
#include <algorithm>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
int main() {
    std::map<std::string, int> m;
    std::vector<int> v;
    for (int i = 0; i < 5000; i++) { m["k" + std::to_string(i % 97)] += i; v.push_back(i * 7919 % 5003); }
    std::sort(v.begin(), v.end());
    int caught = 0;
    for (int i = 0; i < 200; i++) try { if (i % 3 == 0) throw std::runtime_error("x"); } catch (std::exception &) { caught++; }
    std::cout << m.size() << ' ' << v[17] << ' ' << caught << '\n';
}
END
cat > heavy.c <<'END'
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return x < y ? -1 : x > y; }
int main(void) {
    static double a[20000], b[20000]; static float f[20000]; double complex z = 0;
    for (int i = 0; i < 20000; i++) { a[i] = sin(i) * 1e3; b[i] = exp(-i * 1e-3) + pow(i, 0.3); f[i] = i * 0.5f; z = z * z * 1e-9 + i * I; }
    for (int r = 0; r < 20; r++) for (int i = 1; i < 19999; i++) { a[i] = 0.3 * (a[i - 1] + a[i] + a[i + 1]) + b[i] * f[i]; f[i] = f[i] * 0.9f + (float)b[i]; }
    qsort(a, 20000, sizeof *a, compare);
    long double l = 0; for (int i = 0; i < 20000; i++) l += a[i] / (i + 1.0L);
    unsigned char m[4096]; memset(m, 7, sizeof m); int s = 0; for (int i = 0; i < 4096; i++) s += m[i] ^ i;
    printf("%.12g %.12Lg %d %g\n", a[777], l, s, creal(z));
}
END
cat > omp.c <<'END'
#include <stdio.h>
int main(void) { double s = 0; int n = 0;
#pragma omp parallel for reduction(+:s)
    for (int i = 0; i < 1000000; i++) s += i;
#pragma omp parallel
#pragma omp critical
    n++;
    for (int r = 0; r < 500; r++)
#pragma omp parallel for schedule(dynamic, 7)
        for (int i = 0; i < 100; i++)
#pragma omp atomic
            n++;
    printf("%.0f %d\n", s, n); }
END
printf 'fn main() { let v: Vec<u64> = (0..10000).map(|x| x * x %% 97).collect(); let t: Vec<_> = (0..4).map(|i| std::thread::spawn(move || i * i)).collect(); let s: u64 = t.into_iter().map(|h| h.join().unwrap()).sum(); let r = std::panic::catch_unwind(|| { panic!("x") }); println!("{} {} {}", v.iter().sum::<u64>(), s, r.is_err()); }' > hello.rs
printf 'import java.util.*; import java.util.stream.*; public class Hello { public static void main(String[] a) throws Exception { System.out.println(IntStream.range(0, 300000).mapToLong(i -> i %% 7).sum()); Map<String,Integer> m = new TreeMap<>(); for (int i = 0; i < 20000; i++) m.merge("k" + i %% 50, i, Integer::sum); System.out.println(m.get("k7")); int n = 0; for (int i = 0; i < 3000; i++) try { Object o = i %% 3 == 0 ? null : "x"; o.hashCode(); } catch (NullPointerException e) { n++; } System.out.println(n); Thread[] t = new Thread[8]; long[] r = new long[8]; for (int i = 0; i < 8; i++) { int k = i; t[i] = new Thread(() -> { for (int j = 0; j < 100000; j++) r[k] += j; }); t[i].start(); } for (Thread x : t) x.join(); System.out.println(Arrays.stream(r).sum()); System.gc(); } }' > Hello.java
printf 'for {set i 0} {$i < 50000} {incr i} { set a([expr {$i %% 97}]) $i }\nputs [array size a]\n' > tcl.tcl
printf 'all: %s\n%%.x:\n\t@expr 1 + 1 > /dev/null\n' "$(seq -s ' ' -f '%g.x' 60)" > forks.mk
cc -g -O0 -o small_g small.c 2> /dev/null
RLE_REPOSITORY=${RLE_REPOSITORY:-$(cd "$(dirname "$list")/../.." && pwd)}
PROGRAMS=$RLE_REPOSITORY/tests/engine/torture
PYTHON=
for python in python3 /usr/bin/python3; do
    [ -n "$PYTHON" ] || ! "$python" -c 'import numpy' 2> /dev/null || PYTHON=$python
done
export RLE_REPOSITORY PROGRAMS PYTHON
how="-m $mode"
[ "$mode" != launcher ] || how=--launcher

# What LINE needs that is not there.
missing_for() {
    case $1 in
    '['*) needs=${1%%]*}; needs=${needs#?} ;;
    *) needs=${1%% *} ;;
    esac
    for word in $needs; do
        case $word in
        partly) ;;
        numpy) [ -n "$PYTHON" ] || echo numpy ;;
        *) command -v "$word" > /dev/null 2>&1 || echo "$word" ;;
        esac
    done
}

# What the numbers of a run say against it.
uncounted() {
    case $line in '[partly'*) return ;; esac
    awk '
        $1 == "images" && ($2 == "detached" || $2 == "failed") { bad = 1 }
        $1 == "problem" || ($1 == "lost" || $1 == "malformed" || $1 == "uncounted_blocks") && $2 > 0 { print; bad = 1 }
        $1 == "uncounted" && $3 != 5 { print }
        $1 == "message" { print }
        $1 == "instructions" { some = $2 > 0 }
        END { if (!some) print "nothing was counted"; exit bad || !some }' numbers > complaints
    [ $? -eq 0 ] || [ "$mode" = translate ] || cat complaints
}

# timed SECONDS COMMAND...: it has a process group of its own, which is told when this script is to end.
timed() {
    timeout "$@" &
    running=$!
    wait $running
    set -- $?
    running=
    return "$1"
}

passed=0 failed=0 skipped=0 absent=
while IFS= read -r line; do
    case $line in '' | '#'*) continue ;; esac
    missing=$(missing_for "$line")
    if [ -n "$missing" ]; then
        skipped=$((skipped + 1)) absent="$absent $missing"
        continue
    fi
    case $line in '['*) command=${line#*] } ;; *) command=$line ;; esac
    timed 120 sh -c "$command" > native.out 2> native.err < /dev/null; native=$?
    rm -f numbers
    timed 600 "$roofline" count $how -o numbers -- sh -c "$command" > engine.out 2> engine.err < /dev/null; counted=$?
    complaint=
    [ $native -eq $counted ] || complaint="native status $native, under the engine $counted"
    cmp -s native.out engine.out || complaint="$complaint; other output"
    [ ! -s numbers ] || complaint="$complaint$(uncounted)"
    if [ -z "$complaint" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $command"
        echo "  $complaint"
        diff native.out engine.out | head -5 | sed 's/^/  /'
        head -5 engine.err | sed 's/^/  stderr: /'
    fi
done < "$list"
echo "$passed alike, $failed different, $skipped skipped"
[ -z "$absent" ] || echo "not installed:" $(printf '%s\n' $absent | sort -u)
[ $failed -eq 0 ]
