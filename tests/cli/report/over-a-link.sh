# Written over a link, the file it points to is replaced; so is the one /dev/stdout is sent to.
echo old >target
ln -s target link
ln -s missing dangling
r() {
    roofline report -f csv -m "$CASES/../../fixture/report/machine.json" "$CASES/../../fixture/report/profile.json" -o "$1"
}
r link
[ -L link ] && head -c 5 target && echo
r /dev/stdout >sent
[ -L /dev/stdout ] && head -c 5 sent && echo
r dangling
head -c 5 dangling && echo
ls
