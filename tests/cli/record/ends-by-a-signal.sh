# A shell would say it; so does the tool, and the report.
roofline record --count none -o p.json -- sh -c 'kill -SEGV $$' || echo "status $?"
grep -o 'the program ended with status [^:]*' p.json
roofline record -q --count none -o p.json -- sh -c 'exit 255' || echo "status $?"
grep 'ended with' p.json || true
