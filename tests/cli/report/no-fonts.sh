# Pictures need a font; text does not.
echo '<fontconfig></fontconfig>' >fonts.conf
FONTCONFIG_FILE=$PWD/fonts.conf roofline report -f chart "$CASES/../../fixture/report/machine.json" | head -1
FONTCONFIG_FILE=$PWD/fonts.conf roofline report -f svg "$CASES/../../fixture/report/machine.json"
