# A signal to roofline during the counting run reaches the program, what is known is still written, and the status is
# that of the run that was interrupted.
status=0
roofline record -q --sampling none -o p.json -- sh -c '
    if [ -e second ]; then kill -TERM $PPID; exec sleep 20; fi
    touch second' || status=$?
echo $status
grep -c 'the counted run was interrupted' p.json
grep -c '"exit_status": 143' p.json
ls
