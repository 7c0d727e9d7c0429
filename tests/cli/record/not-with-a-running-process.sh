# What only a program that roofline starts can be asked for is refused, not passed over.
for option in '--only x' --single-pass '--repeat 3' '--sampling timer' '--sampling none'; do
    roofline record $option --pid $$ --duration 0.1 -o p.json || echo $?
done
ls
