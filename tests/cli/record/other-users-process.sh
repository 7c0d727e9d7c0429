[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || { echo "needs root, to become another user"; exit 77; }
chmod 755 .. .
other="setpriv --reuid 65534 --clear-groups"
$other roofline version >/dev/null 2>&1 || { echo "another user cannot run the program from here"; exit 77; }
$other roofline record -p $$ --duration 0.1 -o /dev/null 2>&1 | sed 's/[0-9][0-9]*/PID/'
