# The counts of a run that went another way are kept, and it is said which values that concerns.
cat >twice.sh <<'END'
test -e seen && exit 3
touch seen
END
roofline record -q -o p.json --traffic none -- sh twice.sh
grep -o 'it ended with exit status 0 in the first run and with exit status 3 in the counted run' p.json
grep -o 'rates and percentages of a roof, which join the two, may be wrong' p.json
cat >more.sh <<'END'
test -e written && printf '%09000d' 0
touch written
echo done
END
roofline record -q -o p.json --traffic none -- sh more.sh
grep -o 'it wrote 5 bytes in the first run and 9005 in the counted run' p.json
grep -c 'may be wrong' p.json
roofline record -q -o p.json --traffic none -- sh -c 'echo done'
grep -c 'may be wrong' p.json || true
