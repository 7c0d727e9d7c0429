# tidy FOLDER [SIGNAL], once at the beginning: when the script ends, by a signal too, the processes that $running
# names then are killed, by SIGNAL rather than KILL, and FOLDER is removed.
running=
tidy() {
    tidied=$1 tidied_by=${2:-KILL}
    trap 'for process in $running; do kill -s "$tidied_by" "$process" 2> /dev/null; done; rm -rf "$tidied"' EXIT
    trap 'exit 143' HUP INT TERM
}
