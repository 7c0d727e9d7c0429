# Progress fits into the terminal, however narrow: a line that is wrapped cannot be written over.
command -v script >/dev/null || { echo "script is not installed"; exit 77; }
script -qec "stty cols 20; roofline record -o p.json -- sleep 2" /dev/null </dev/null >shown
grep -q 'profile written' shown || cat shown
tr '\r' '\n' <shown | sed 's/\x1b\[K//g' | grep -E ' %  | s  ' | awk '{ n++; if (length($0) > most) most = length($0) }
    END { print (n > 0 ? "progress" : "no progress"), (most <= 20 ? "fits" : "is too wide") }'
