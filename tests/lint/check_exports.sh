#!/bin/sh
# libroofline exports exactly the functions that its public headers declare (inline ones aside).
set -u
cd "$1" || exit 2
declared=$(cat include/roofline/*.h | sed -e 's://.*::' | tr '\n' ' ' | sed -e 's:/\*[^*]*\**\([^/*][^*]*\**\)*\*/: :g' |
    tr ';{}' '\n\n\n' | grep -v 'static inline' | grep -o '\brl_[a-z0-9_]*(' | tr -d '(' | sort -u)
exported=$(sed -e '1,/^global:/d' -e '/^local:/,$d' src/lib/exports.map | tr -d ' ' | tr ';' '\n' | grep . | sort -u)
[ "$declared" = "$exported" ] && exit 0
echo "declared in include/roofline but not exported, or the other way round:"
{ echo "$declared" | sed 's/^/declared /'; echo "$exported" | sed 's/^/exported /'; } | sort -k2 | uniq -u -f1
exit 1
