# What cannot be done is said before the program is run, which may take hours.
echo text > text
for options in '--times missing.json' '--times text' '--replay missing' '--replay text' '--single-pass --repeat 2' '--duration 5'; do
    roofline record $options -o p.json -- sh -c 'echo ran' || echo $?
done
