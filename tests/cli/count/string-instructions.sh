# What repeated string instructions move is counted by their repetitions, as in profiles.
strings=$(dirname "$PROGRAM")/tests/counted/counted-strings
test -x "$strings" || { echo "no program with string instructions was built"; exit 77; }
roofline count --module counted-strings -o numbers -- "$strings" >moved
for what in load store; do
    awk -v what=$what '$2 == what { least += $3 } $1 == what "_bytes" { counted = $2 }
        END { print what, (counted >= least && counted < 1.1 * least) }' moved numbers
done
