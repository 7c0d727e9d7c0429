# The PDF is one that others read, and its words are words.
command -v pdftotext >/dev/null || { echo "pdftotext (poppler-utils) is not installed"; exit 77; }
roofline report -o roof.pdf -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/profile.json"
pdftotext roof.pdf - | grep -o "GFLOP/s" | head -n 1
