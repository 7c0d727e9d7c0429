# Where nothing can be written but the profile, the program still runs, what is known of its time is kept,
# and TMPDIR names a place.
cat > without.sh <<'END'
mount -t tmpfs -o ro tmpfs /dev/shm && mount -t tmpfs -o ro tmpfs /tmp && test -x "$PROGRAM" || exit 77
unset TMPDIR
"$PROGRAM" record -q -o p.json -- true
grep -o 'no scratch folder under .*; set TMPDIR to a folder that can be written to' p.json | sort -u
grep -c '"elapsed_s"' p.json
"$PROGRAM" record -q --count engine -o q.json -- true || echo $?
ls q.json 2>/dev/null || true
mount -t tmpfs tmpfs /mnt || exit 77
TMPDIR=/mnt "$PROGRAM" record -q --count engine -o r.json -- true || echo $?
grep -c 'no scratch folder' r.json || true
ls /mnt
END
unshare -rm true 2>/dev/null || { echo "no namespaces of one's own here"; exit 77; }
unshare -rm sh -eu without.sh
