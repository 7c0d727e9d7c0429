# Where the locale cannot show more, nothing beyond ASCII is printed.
LC_ALL=C roofline report -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/profile.json" >all
LC_ALL=C grep -q '[^ -~]' all && echo "beyond ASCII"
cat all
