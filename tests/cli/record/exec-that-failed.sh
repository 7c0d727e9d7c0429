# What was tried in vain is not said to have been started: env looks for a name in every folder of PATH.
for name in no-such-program true; do
    roofline record -q --no-follow-children --traffic none -o p.json -- env $name || true
    echo "$name: $(grep -c 'a program was started that is not followed' p.json || true)"
done
