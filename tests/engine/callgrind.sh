#!/bin/sh
# Instructions by function, as the engine counts them and as Valgrind's callgrind does: equal for every
# function of the program itself.
#   callgrind.sh ENGINE COUNTS PROGRAM [ARGUMENT…]
set -u
command -v valgrind > /dev/null 2>&1 || { echo "skipped: valgrind is not installed"; exit 77; }
engine=$1 counts=$2 program=$3
shift 3
work=$(mktemp -d) || exit 2
. "$(dirname "$0")/tidy.sh"
tidy "$work"
. "$(dirname "$0")/plain.sh"
engine=$(plain_engine "$engine" "$work")
valgrind -q --tool=callgrind --skip-plt=no --callgrind-out-file="$work/out" "$program" "$@" \
    > /dev/null 2>&1 < /dev/null
[ -s "$work/out" ] || { echo "skipped: callgrind does not run this program here"; exit 77; }
LD_PRELOAD=$engine ROOFLINE_ENGINE=output=$work/r "$program" "$@" > /dev/null 2>&1 < /dev/null
"$counts" "$work"/r.*.0 "/${program##*/}" | sed -n 's/^function //p' | grep -v '^_' | sort > "$work/ours"
# Names and objects are numbered at first use; the line after calls= is inclusive and not the function's.
awk -v object="${program##*/}" '
function name_of(field, table,    id, name) {
    id = substr(field, index(field, "("), index(field, ")") - index(field, "(") + 1)
    name = substr(field, index(field, ")") + 2)
    if (name != "") table[id] = name
    return table[id]
}
/^c?ob=/ { name = name_of($0, objects); if (/^ob=/) { n = split(name, part, "/"); here = part[n] } next }
/^c?fn=/ { name = name_of($0, functions); if (/^fn=/) { sub(/\x27[0-9]+$/, "", name); current = name } next }
/^calls=/ { inclusive = 1; next }
/^[-+*0-9][^ ]* [0-9]+$/ { if (inclusive) inclusive = 0; else if (here == object) sum[current] += $2 }
END { for (f in sum) if (f !~ /^(_|\(|0x|\?)/) printf "%s %d\n", f, sum[f] }' "$work/out" | sort > "$work/theirs"
[ -s "$work/ours" ] || { echo "nothing was counted"; exit 1; }
diff "$work/theirs" "$work/ours" || { echo "(< callgrind, > engine)"; exit 1; }
