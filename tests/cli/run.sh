#!/bin/sh
# Usage: run.sh CASE.sh PROGRAM
# Runs one command-line case in an empty folder and compares standard output, standard error and exit status with
# CASE.out, CASE.err and CASE.exit (a missing .out or .err is not compared; a missing .exit means 0).
# In expectations, a line that ends in " ..." matches any line that starts with what is before it, and a line
# "..." alone matches any number of lines. UPDATE=1 rewrites the expectations.
# A case exits 77 after printing why it cannot run here.
set -u
case=$1
program=$2
base=${case%.sh}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/home" "$work/cwd"
ln -s "$program" "$work/bin/roofline"
export PATH="$work/bin:$PATH" HOME="$work/home" LC_ALL=C.UTF-8 COLUMNS=80 LINES=24 TERM=dumb
export CASES="$(dirname "$case")" PROGRAM="$program"
unset XDG_DATA_HOME NO_COLOR ROOFLINE_ISA 2>/dev/null
cd "$work/cwd" || exit 2
sh -eu "$case" >"$work/out" 2>"$work/err" </dev/null
status=$?
if [ $status -eq 77 ]; then
    cat "$work/out"
    exit 77
fi
bad=0
compare() {
    awk -v want="$1" '
        BEGIN { while ((getline line < want) > 0) expected[++n] = line; at = 1 }
        function fits(pattern, text) {
            if (pattern ~ / \.\.\.$/) return index(text, substr(pattern, 1, length(pattern) - 4)) == 1
            return pattern == text
        }
        {
            if (expected[at] == "...") {
                if (at < n && fits(expected[at + 1], $0)) at += 2
                next
            }
            if (at > n || !fits(expected[at], $0)) { print "expected: " expected[at]; print "     got: " $0; bad = 1; exit }
            at++
        }
        END {
            if (bad) exit 1
            if (expected[at] == "..." ) at++
            if (at <= n) { print "expected: " expected[at]; print "     got: end of output"; exit 1 }
        }' "$2"
}
for stream in out err; do
    want=$base.$stream
    if [ -n "${UPDATE:-}" ]; then
        rm -f "$want"
        if [ -s "$work/$stream" ] || [ "$stream" = out ]; then cp "$work/$stream" "$want"; fi
    elif [ -f "$want" ] && ! compare "$want" "$work/$stream"; then
        echo "--- std$stream differs from $want"
        bad=1
    fi
done
want_status=0
[ -f "$base.exit" ] && want_status=$(cat "$base.exit")
if [ -n "${UPDATE:-}" ]; then
    rm -f "$base.exit"
    [ $status -eq 0 ] || echo $status >"$base.exit"
elif [ "$status" != "$want_status" ]; then
    echo "--- exit status $status, expected $want_status"
    bad=1
fi
if [ $bad -ne 0 ]; then
    echo "--- standard output:"
    cat "$work/out"
    echo "--- standard error:"
    cat "$work/err"
fi
exit $bad
