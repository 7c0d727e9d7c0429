# Kernels of one name in several profiles are told apart by their files; notes that all have are said once.
data=$CASES/../../fixture/report
sed 's/"schema".*/&"notes": ["of every rank"],/' "$data/profile.json" >rank-0.roofline.json
sed 's/"name": "copy"/"name": "renamed"/' rank-0.roofline.json >rank-1.json
roofline report -f text --size 100x60 -m "$data/machine.json" rank-0.roofline.json rank-1.json >text
grep -oE '^ *[0-9]+ (triad|copy|renamed) [^ ]*' text | sed 's/^ *[0-9]* //; s/ *$//' | sort
grep -c 'of every rank' text
roofline report -f json --select triad -m "$data/machine.json" rank-0.roofline.json rank-1.json | grep '"profile"'
roofline report -f csv --select triad -m "$data/machine.json" rank-0.roofline.json rank-1.json | sed 's/.*,//' | uniq
roofline report -f json --select triad -m "$data/machine.json" rank-1.json | grep -c '"profile"' || true
