#!/bin/sh
# Usage: check_isa.sh BUILD
# Instructions beyond the oldest x86-64 stand only in files named after their instruction set, whose functions
# are called after a look at the processor: everything else must run anywhere.
set -u
cd "$1" || exit 2
command -v objdump >/dev/null 2>&1 || { echo "skipped: objdump (binutils) is not installed"; exit 77; }
objects=$(find src -name 'librl_*.a')
[ -n "$objects" ] || { echo "no archives below $1/src"; exit 1; }
# shellcheck disable=SC2086
objdump -d --no-show-raw-insn $objects | awk '
    BEGIN { newer = "^(v[a-z].*|k(mov|n?or|xn?or|and|not|test|shift|unpck|add).*|andn|bextr|bls.*|[rs][aho][lr]x|pdep|pext|mulx|popcnt|[lt]zcnt|movbe|pshufb|p(min|max)[su][bdw]|crc32.*|tile.*)$"
            old = "^(verr|verw|pmaxsw|pmaxub|pminsw|pminub|tzcnt)$" } # tzcnt is bsf there, and compilers rely on it
    /:     file format/ { file = $1 }
    file ~ /avx|fma|amx/ { next }
    /^[0-9a-f]+ <.*>:$/ { name = $2 }
    $1 ~ /^[0-9a-f]+:$/ && $2 ~ newer && $2 !~ old && !seen[file name]++ { print file " " name " " $2; bad = 1 }
    END { exit bad }'
