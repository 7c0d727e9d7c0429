# There are no loads to look for the ends of caches with on x86 then: they are as reported.
for i in 1 2 3; do
  ROOFLINE_ISA=scalar roofline measure -q --budget 0.5 -o m.json >/dev/null
  echo "exit $?"
done
grep -c measured_size m.json || true
