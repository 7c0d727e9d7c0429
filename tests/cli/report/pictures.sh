# The ending of the output names the format; nothing is left beside the files.
for format in svg png pdf; do
    roofline report -o "roof.$format" -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/profile.json"
done
ls
head -c 5 roof.pdf; echo
head -c 4 roof.png | tail -c 3; echo
grep -c '<text' roof.svg
