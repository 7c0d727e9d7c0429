# Every mode runs the program to its end with its own output and status; only counting counts.
for mode in native translate count traffic full; do
    status=0
    roofline count --mode $mode -o numbers -- sh -c 'echo output; exit 7' || status=$?
    instructions=$(awk '$1 == "instructions" { print ($2 > 0 ? "some" : "none") }' numbers)
    levels=$(grep -c '^level ' numbers || true)
    echo "$mode: status $status, instructions ${instructions:-unknown}, levels $([ "$levels" -gt 0 ] && echo some || echo none)"
done
