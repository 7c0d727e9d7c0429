# Of a terminal the first run alone reads: later ones, which nobody sees, do not wait for somebody to type.
command -v script >/dev/null || { echo "script is not installed"; exit 77; }
(
    echo typed
    sleep 3
    echo later
) | script -qec "roofline record -o p.json -- sh -c 'read x; echo \"<\$x>\" >>log; : 2>/dev/null </dev/tty && echo tty >>log'" /dev/null >shown || true
cat log
grep -o 'standard input was a terminal, of which only the first run could read' p.json
