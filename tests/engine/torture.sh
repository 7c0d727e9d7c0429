#!/bin/sh
# Each command of a list, natively and under the counting engine: same output, same exit status.
#   torture.sh ENGINE LIST [WORK]
# A line of LIST is a shell command; those whose first word is not installed are passed over. Lines run
# in a directory of their own with the inputs made below; `#` begins a comment.
set -u
engine=$1 list=$2 work=${3:-$(mktemp -d)}
mkdir -p "$work" && cd "$work" || exit 2
results=$(mktemp -d)
[ -d /dev/shm ] && [ -w /dev/shm ] && rm -rf "$results" && results=$(mktemp -d /dev/shm/rl-torture.XXXXXX)
trap 'rm -rf "$results"' EXIT
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
passed=0 failed=0 absent=0
while IFS= read -r line; do
    case $line in ''|'#'*) continue ;; esac
    word=${line%% *}
    case $word in timeout|env|cd) word=$(printf '%s' "$line" | awk '{print $3}') ;; esac
    command -v "$word" >/dev/null 2>&1 || { absent=$((absent + 1)); continue; }
    timeout 120 sh -c "$line" > native.out 2> native.err < /dev/null; native=$?
    timeout 300 env LD_PRELOAD="$engine" ROOFLINE_ENGINE="${RLE_TORTURE_OPTIONS:-}output=$results/r" \
        sh -c "$line" > engine.out 2> engine.err < /dev/null; counted=$?
    rm -f "$results"/r.*
    if [ $native -eq $counted ] && cmp -s native.out engine.out; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $line"
        echo "  native status $native, under the engine $counted"
        diff native.out engine.out | head -5 | sed 's/^/  /'
        head -5 engine.err | sed 's/^/  stderr: /'
    fi
done < "$list"
echo "$passed alike, $failed different, $absent not installed"
[ $failed -eq 0 ]
