# With another seed other lines are followed: of a column that is walked down again and again a draw has all or nothing.
numeric=$(dirname "$PROGRAM")/tests/engine/engine-numeric
test -x "$numeric" || { echo "no program with a column was built"; exit 77; }
roofline count -m full -o full -- "$numeric" column 1 >/dev/null
awk '$1 == "cache" { caches++ } $1 == "level" { levels++; off += $4 - $8 - $10 - $12 - $14 }
    END { print (caches == levels && off > -9 && off < 9 ? "kinds add up" : "kinds do not add up to the bytes") }' full
seen=
for seed in $(seq 1 40); do
    roofline count -m traffic --seed "$seed" -o part -- "$numeric" column 1 >/dev/null
    seen="$seen $(awk '$1 != "level" || $2 != "L2" { next } FNR == NR { truth = $4; next }
        { print ($4 > 3 * truth ? "all" : $4 < truth / 3 ? "nothing" : "neither") }' full part)"
    case $seen in *all*nothing* | *nothing*all*) break ;; esac
done
for word in $seen; do echo "$word"; done | grep -v neither | sort -u
