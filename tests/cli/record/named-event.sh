# An event that libpfm4 knows is counted in a run of its own and kept with the program; others are refused at once.
roofline record -q -o p.json --count none --event perf::PAGE-FAULTS -- true 2>err || { grep -q 'need libpfm4' err && { cat err; exit 77; }; }
tr -d ' \n' <p.json | grep -o '"event.perf::PAGE-FAULTS":"[0-9]*"' | sed 's/"[0-9]*"/N/'
grep -o 'perf::PAGE-FAULTS of the program' p.json
status=0
roofline record -q -o q.json --event perf::PAGE-FALTS -- true || status=$?
echo "status $status"
roofline record -q -o q.json --single-pass --event perf::PAGE-FAULTS -- true || status=$?
echo "status $status"
ls
