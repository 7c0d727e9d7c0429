#!/bin/sh
# Every #include "module/…" in src/ must point to a lower layer, or to a neighbour the table allows.
# The table is the module map of ARCHITECTURE.md: module, layer, neighbours in the same layer.
set -u
cd "$1" || exit 2
awk '
BEGIN {
    split("base:0 region:0 record:1 model:1 cpu:1 format:2 catalog:2 topology:2 timing:2 symbol:2 kernel:3 count:3 decode:3 sample:3 import:3 accel:3 ceilings:4 profile:4 workload:4 analysis:4 render:4 cluster:4 cli:5", rows, " ")
    for (i in rows) { split(rows[i], f, ":"); layer[f[1]] = f[2] }
    allowed["model record"] = allowed["render analysis"] = allowed["count decode"] = allowed["count kernel"] = 1
    producer = " profile symbol topology catalog ceilings workload count sample import accel kernel timing decode "
    consumer = " analysis render cluster "
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split(FILENAME, p, "/"); from = p[2]
    match($0, /"[^"]*"/); path = substr($0, RSTART + 1, RLENGTH - 2)
    if (split(path, q, "/") < 2) next
    to = q[1]
    if (!(to in layer) || from == to) next
    if (path ~ /_internal\.h$/) { print FILENAME ":" FNR ": " path " is internal to " to; bad = 1 }
    if ((from " " to) in allowed) next
    if (!(from in layer)) { print FILENAME ": module " from " is not in the table"; bad = 1; next }
    if (layer[to] >= layer[from]) { print FILENAME ":" FNR ": " from " (layer " layer[from] ") includes " to " (layer " layer[to] ")"; bad = 1 }
    if (index(producer, " " from " ") && index(consumer, " " to " ")) { print FILENAME ":" FNR ": producer " from " includes consumer " to; bad = 1 }
    if (index(consumer, " " from " ") && index(producer, " " to " ")) { print FILENAME ":" FNR ": consumer " from " includes producer " to; bad = 1 }
}
END { exit bad }' $(find src -name '*.[chS]')
status=$?
for folder in src/*/; do
    module=$(basename "$folder")
    [ "$module" = lib ] && continue
    grep -q "^| \`$module\` |" ARCHITECTURE.md || { echo "ARCHITECTURE.md lacks the module $module"; status=1; }
done
exit $status
