# Counters that are not there are refused before the program runs, for their reason.
roofline doctor | grep -q "^ok  counters" && { echo "this machine has hardware counters"; exit 77; }
roofline record --traffic pmu -o p.json -- echo it must not run
