# A function that is over before a sample can be taken keeps its exact counts, and the reason why it has no time.
command -v cc >/dev/null || { echo "there is no C compiler"; exit 77; }
cat >short.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) double first(double x) { for (int i = 0; i < 100; i++) x = x * 0.9 + 0.1; return x; }
int main(void) { volatile double x = first(rand()); return x < 0; }
END
cc -O1 -o short short.c
roofline record -q -o p.json --functions --function first --traffic none -- ./short
grep -c '"name": "first"' p.json
grep -A 400 '"name": "first"' p.json | grep -oE 'it was never seen in 1 run|\(--repeat N\)' | sort -u
tr -d ' \n' <p.json | sed 's/{"name":/\n&/g' | grep '^{"name":"first","kind":"function"' |
    grep -oE '"precision":"fp64","op":"(add|mul)"[^}]*"value":[0-9]*' | sed 's/.*"op":"\([a-z]*\)".*:/\1 /' | sort
