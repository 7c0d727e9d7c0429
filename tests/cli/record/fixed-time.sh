# A program that runs for a fixed time gets less done while it is counted: rates are said not to be known.
command -v timeout >/dev/null || { echo "there is no timeout"; exit 77; }
roofline record -o p.json --traffic none -- timeout 2 awk 'BEGIN { while (1) s += 0.5 }' 2>messages || true
grep -o 'it seems to run for a fixed time' messages
grep -A 1 '"what": "rate"' p.json | grep -o -- '--single-pass'
roofline record -q -o p.json --traffic none -- awk 'BEGIN { while (i++ < 3000000) s += 0.5 }'
grep -c '"what": "rate"' p.json || true
