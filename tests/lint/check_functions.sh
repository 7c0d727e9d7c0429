#!/bin/sh
# No function is longer than 80 lines; no source file longer than 700.
set -u
cd "$1" || exit 2
command -v ctags >/dev/null 2>&1 || { echo "skipped: ctags (universal-ctags) is not installed"; exit 77; }
bad=0
long=$(find src examples tests -name '*.c' 2>/dev/null | xargs ctags -x --_xformat='%N %{line} %{end} %F' --kinds-C=f --fields=+ne |
    awk 'NF == 4 && $3 - $2 > 80 { print $4 ": " $1 " has " $3 - $2 " lines" }')
[ -n "$long" ] && { echo "$long"; bad=1; }
big=$(find src tests -name '*.[ch]' | xargs wc -l | awk '$2 != "total" && $1 > 700 { print $2 " has " $1 " lines" }')
[ -n "$big" ] && { echo "$big"; bad=1; }
exit $bad
