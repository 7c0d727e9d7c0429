# A process that was killed as it began leaves an empty result, which is left out; any other that cannot be read is an error.
cat >leave.sh <<'END'
folder=$(sed -n 's|^[^/]*\(/.*\)/result\.[0-9.]*$|\1|p' /proc/self/maps | head -n 1)
printf '%s' "$1" >"$folder/result.1.0"
END
for content in '' damaged; do
    status=0
    roofline count -o numbers -- sh leave.sh "$content" 2>errors || status=$?
    echo "'$content': status $status, left out $(grep -c '^left_out .*result.1.0' numbers || true)," \
        "instructions $(grep -c '^instructions ' numbers || true), errors $(grep -c 'not a result' errors || true)"
done
