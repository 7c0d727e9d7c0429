# A job of several programs has a row for each; one that was started by env or a shell is what the profile is called.
file() { basename "$(readlink -f "$(command -v "$1")")"; }
work='BEGIN { for (i = 0; i < 3000000; i++) s += i * 0.5 }'
roofline record -q -o p.json --functions --traffic none -- sh -c "awk '$work'; seq 500000 | sort -r >sorted"
grep -B 1 '"kind": "program"' p.json | sed -n 's/.*"name": "\(.*\)",/\1/p' >names
for name in 'all processes' "$(file awk)" "$(file sort)"; do
    grep -qx "$name" names || { echo "no row for $name"; cat names; }
done
grep -B 1 '"kind": "program"' p.json | grep -c '"all processes"'
roofline record -q -o p.json --traffic none -- env A=b awk "$work"
grep -c "^  \"name\": \"$(file awk)\"" p.json
printf '#!/bin/sh\nexec awk "%s"\n' "$work" >script
chmod +x script
roofline record -q -o p.json --traffic none -- ./script
grep -c '^  "name": "script"' p.json
