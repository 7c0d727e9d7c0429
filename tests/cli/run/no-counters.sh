# Refused before the machine is measured.
roofline doctor | grep -q "^ok  counters" && { echo "this machine has hardware counters"; exit 77; }
roofline run --count pmu -- echo it must not run
