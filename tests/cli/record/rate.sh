# A rate that was asked for is said, with no other that might have been taken instead.
roofline record -q --count none --sampling perf --rate 200 -o p.json -- sleep 0.01 || { echo "perf does not sample here"; exit 77; }
grep -o 'sampled 200 times a second (perf)' p.json
grep -c 'times would take' p.json || true
