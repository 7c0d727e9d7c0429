# A tool that is killed takes the program with it, in the run that is shown and in the one that is not, and the next
# one removes what it left.
cat >program.sh <<'END'
[ -e stop-at-once ] || { echo $$ >pid; exec sleep 60; }
rm stop-at-once
END
for run in shown silent; do
    rm -f pid
    [ $run = shown ] || touch stop-at-once
    roofline record -q -o p.json -- sh ./program.sh &
    tool=$!
    for i in $(seq 300); do [ -s pid ] && break || sleep 0.1; done
    [ -s pid ] || { echo "$run: it never ran"; kill -9 $tool; continue; }
    kill -9 $tool
    wait $tool || true
    for i in $(seq 100); do kill -0 $(cat pid) 2>/dev/null || break; sleep 0.1; done
    kill -0 $(cat pid) 2>/dev/null && { echo "$run: it goes on"; kill $(cat pid); } || echo "$run: it ended"
    roofline record -q --count none -o q.json -- true
    for folder in /dev/shm/roofline-$tool-* /tmp/roofline-$tool-*; do [ ! -e "$folder" ] || echo "$run: $folder is left"; done
done
ls
