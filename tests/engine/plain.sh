# plain_engine ENGINE FOLDER: a path of the engine that LD_PRELOAD can hold, which splits at blanks and
# colons: its own, or that of a link in FOLDER, with one to its launcher beside it.
plain_engine() {
    case $1 in
    *[\ :]*)
        ln -s "$1" "$2/${1##*/}"
        ln -s "${1%/*}/roofline-engine-launch" "$2/roofline-engine-launch"
        echo "$2/${1##*/}" ;;
    *) echo "$1" ;;
    esac
}
