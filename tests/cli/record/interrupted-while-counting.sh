# A signal to roofline during the counting run reaches the program, and what is known is still written.
roofline record -q --sampling none -o p.json -- sh -c '
    if [ -e second ]; then kill -TERM $PPID; exec sleep 20; fi
    touch second'
grep -c '"behaves differently\|behaves differently' p.json
ls
