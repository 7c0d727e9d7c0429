# Neither the program nor what it starts sees what was preloaded for its regions, timed or counted; what the user preloads
# stays.
command -v printenv >/dev/null || { echo "there is no printenv"; exit 77; }
cat >look.sh <<'END'
printenv LD_PRELOAD >>seen || echo none >>seen
exec sh -c 'printenv LD_PRELOAD >>seen || echo none >>seen'
END
look() { rm -f seen; roofline record -q --traffic none "$@" -o p.json -- sh look.sh; sort seen | uniq -c | tr -s ' '; }
look
library=$(ldd "$PROGRAM" | sed -n 's/.* => \(\/[^ ]*libjansson[^ ]*\) .*/\1/p' | head -1)
test -n "$library" || exit 0
ldd "$PROGRAM" | grep -q libasan && { echo "the sanitizer must be loaded first"; exit 77; }
LD_PRELOAD=$library
export LD_PRELOAD
look | sed "s|$library|LIBRARY|"
