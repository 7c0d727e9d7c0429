# Where every process was killed before it was counted there are no counts, which is said and is a failure.
cat >leave.sh <<'END'
folder=$(sed -n 's|^[^/]*\(/.*\)/result\.[0-9.]*$|\1|p' /proc/self/maps | head -n 1)
set -- "$folder"/result.*.*
: >"$folder/result.1.0"
exec rm -f "$@" "$folder/result.$$.1"
END
status=0
roofline count -o numbers -- sh leave.sh 2>errors || status=$?
echo "status $status, left out $(grep -c '^left_out .*result.1.0' numbers || true)," \
    "instructions $(grep -c '^instructions ' numbers || true)"
grep -o 'every process was killed before it was counted' errors
