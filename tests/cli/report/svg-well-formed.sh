command -v xmllint >/dev/null || { echo "xmllint (libxml2-utils) is not installed"; exit 77; }
roofline report -f svg --theme dark -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/profile.json" | xmllint --noout -
