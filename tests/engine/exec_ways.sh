#!/bin/sh
# Whatever names a program that is executed, it is counted, or the result says why it is not.
#   exec_ways.sh ROOFLINE PROGRAM FILE COUNTED REASON…
# PROGRAM executes FILE; COUNTED of its children are to be counted, and the REASONs, and no others, to be given, each
# as often as it holds.
set -u
roofline=$1 program=$2 file=$3 expected=$4
shift 4
work=$(mktemp -d) || exit 2
. "$(dirname "$0")/tidy.sh"
tidy "$work"
cd "$work" || exit 2
"$program" "$file" > native.out || exit 1
"$roofline" count -o numbers -- "$program" "$file" > engine.out 2> engine.err || { cat engine.err; exit 1; }
bad=0
cmp native.out engine.out || { diff native.out engine.out; bad=1; }
flop=$(awk '$1 == "flop" { print $2 }' numbers)
[ "$flop" = $((expected * 1000)) ] || { echo "$flop FLOP, expected those of $expected children"; bad=1; }
printf '%s\n' "$@" | sort > wanted
grep -q '32 bits: 9' native.out || sed -i /32-bit/d wanted # this kernel runs none
awk '$1 == "uncounted" && $3 == 4' numbers | cut -d' ' -f4- | sort > given
cmp -s wanted given || { diff wanted given; bad=1; }
exit $bad
