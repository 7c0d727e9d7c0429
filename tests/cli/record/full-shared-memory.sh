# Where shared memory is nearly full, another place is found for the counts.
cat > fill.sh <<'END'
mount -t tmpfs -o size=1100k tmpfs /dev/shm || exit 77
roofline record -q -o full.json -- awk 'BEGIN { for (i = 0; i < 1000; i++) s += sqrt(i); printf "%d\n", s }'
ls /dev/shm
grep -c 'counts were lost' full.json || true
END
unshare -rm true 2>/dev/null || { echo "no namespaces of one's own here"; exit 77; }
unshare -rm sh -eu fill.sh
