#!/bin/sh
# Usage: check_docs.sh SOURCE PROGRAM
# Every command has a man page whose SYNOPSIS is the usage line of --help; every long option stands in the page and
# in the completion; roofline(1) names every command; the pages are clean troff.
set -u
cd "$1" || exit 2
program=$2
bad=0
complain() { echo "$*"; bad=1; }
commands=$("$program" --help | awk '/^commands:/ { on = 1; next } on && NF == 0 { exit } on { print $1 }')
[ -n "$commands" ] || complain "roofline --help lists no command"
completion=data/completion/roofline
for command in $commands; do
    page=docs/man/roofline-$command.1
    help=$("$program" "$command" --help) || complain "$command --help fails"
    if [ ! -f "$page" ]; then
        complain "$page is missing"
        continue
    fi
    usage=$(echo "$help" | sed -n '1s/^usage: //p')
    synopsis=$(awk '/^\.SH SYNOPSIS/ { on = 1; next } /^\.SH/ { on = 0 } on' "$page" |
        sed -e 's/^\.[A-Z]* *//' -e 's/\\f[BIRP]//g' -e 's/\\-/-/g' -e 's/\\&//g' -e 's/"//g' | tr '\n' ' ' | sed -e 's/  */ /g' -e 's/ $//')
    [ "$usage" = "$synopsis" ] || complain "$page: SYNOPSIS is '$synopsis', --help says '$usage'"
    for option in $(echo "$help" | grep -o '^  *\(-[a-zA-Z], \)\?--[a-z][a-z0-9-]*' | grep -o -e '--[a-z0-9-]*'); do
        sed 's/\\-/-/g' "$page" | grep -q -e "$option\\b" || complain "$page lacks $option"
        awk -v c="$command)" '$1 == c { on = 1 } on; /;;/ { on = 0 }' "$completion" | grep -q -e "$option\\b" ||
            complain "$completion lacks $command $option"
    done
    sed 's/\\-/-/g' docs/man/roofline.1 | grep -q "roofline-$command" || complain "docs/man/roofline.1 lacks $command"
done
if command -v man >/dev/null 2>&1; then
    for page in docs/man/*.1; do
        warnings=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
        [ -z "$warnings" ] || complain "$page: $warnings"
    done
fi
exit $bad
