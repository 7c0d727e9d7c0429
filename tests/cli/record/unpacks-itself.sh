# What a program unpacks into a folder of its own each time, and deletes, has both time and counts.
attached=$(dirname "$PROGRAM")/tests/engine/engine-attached
test -x "$attached" || { echo "no program to unpack was built"; exit 77; }
cat >packed <<'END'
#!/bin/sh
folder=$(mktemp -d ./unpackedXXXXXX)
i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done
cp "$1" "$folder/inner"
"$folder/inner" spin 2
rm -r "$folder"
END
chmod +x packed
roofline record -q --functions --sampling perf --traffic none -o p.json -- ./packed "$attached" 2>err || {
    grep -q 'perf_event' err && { cat err; exit 77; }
    cat err
}
tr -d ' \n' <p.json | sed 's/{"name":/\n&/g' | grep '"name":"ratio_loop","kind":"function"' >loop
grep -c . loop
grep -c '"time_s".*"op":"mul"' loop
find . -name 'unpacked*'
grep -c '"name": "inner"' p.json
