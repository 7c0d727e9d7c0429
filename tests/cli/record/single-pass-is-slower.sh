# A run that is counted is slower than by itself: rates by its time are said to be too low, at once and in the report.
engine=$(dirname "$PROGRAM")/src/count/engine/libroofline-engine.so
test -e "$engine" || { echo "no engine was built"; exit 77; }
roofline record -o p.json --traffic none --single-pass -- awk 'BEGIN { while (i++ < 1000) s += 0.5 }' 2>messages
grep -o 'rates and parts of a roof are too low' messages
grep -A 1 '"what": "rate"' p.json | grep -o 'time is from the counted run'
