# What counts is said in one line.
roofline doctor | grep -q "^ok  counters" && { echo "this machine has hardware counters"; exit 77; }
roofline record --traffic none -o p.json -- true 2>&1 | grep -c "^only the engine counts: "
roofline record --count engine --traffic none -o p.json -- true 2>&1 | grep -c "^only the engine counts: " || true
