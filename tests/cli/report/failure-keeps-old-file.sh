# A report that cannot be made leaves the last one alone.
echo old >roof.svg
roofline report -o roof.svg --size 100x100 "$CASES/../../fixture/report/machine.json" || echo "exit $?"
ls
cat roof.svg
