# Profiles whose files have the same name, in folders of their own, are told apart by their paths.
data=$CASES/../../fixture/report
mkdir before after
cp "$data/profile.json" before/run.json
cp "$data/profile.json" after/run.json
cp "$data/profile.json" other.json
roofline report -f csv --select triad -m "$data/machine.json" before/run.json after/run.json other.json | sed 's/.*,//' | uniq
roofline report -f csv --select triad -m "$data/machine.json" other.json before/run.json after/run.json | sed 's/.*,//' | uniq
