# A pipe is read once: that the counted run had nothing of it is said. What is not read to its end may be there for it.
for reader in cat true; do
    echo one two | roofline record -q --traffic none -o p.json -- $reader
    echo "$reader: $(grep -c 'standard input was a pipe and came to its end' p.json || true)"
done
roofline record -q --traffic none -o p.json -- cat </dev/null
echo "no pipe: $(grep -c 'standard input was a pipe' p.json || true)"
