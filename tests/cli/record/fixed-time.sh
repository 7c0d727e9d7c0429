# A program that runs for a fixed time gets less done while it is counted: rates are said not to be known.
command -v timeout >/dev/null || { echo "there is no timeout"; exit 77; }
# Where others keep the machine busy two runs may differ by chance: a third time settles it.
for try in 1 2 3; do
    roofline record -o p.json --traffic none -- timeout 3 awk 'BEGIN { while (1) s += 0.5 }' 2>messages || true
    grep -q '"what": "rate"' p.json && break
done
grep -o 'it seems to run for a fixed time' messages
grep -A 1 '"what": "rate"' p.json | grep -o -- '--single-pass'
roofline record -q -o p.json --traffic none -- awk 'BEGIN { while (i++ < 3000000) s += 0.5 }'
grep -c '"what": "rate"' p.json || true
