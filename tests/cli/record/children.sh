# Programs that the program starts are counted, and named, unless that is not wanted.
roofline record -q -o p.json --traffic none -- sh -c 'awk "BEGIN { for (i = 0; i < 100000; i++) s += i }"; true'
grep -oE '[0-9]+ process images were counted: sh .1., awk \(1\)' p.json
grep -c '"module": *".*awk"' p.json | sed 's/^[1-9].*/some/'
roofline record -q -o p.json --traffic none --no-follow-children -- sh -c 'awk "BEGIN { for (i = 0; i < 100000; i++) s += i }"; true'
grep -c 'awk"' p.json || true
grep -o 'programs that the program started are left out' p.json
roofline record --follow-children --no-follow-children -- true 2>&1 | head -1 || true
