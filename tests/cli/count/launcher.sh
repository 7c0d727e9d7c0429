# Preloaded, the loader's own start-up is missing, and said to be; from the first instruction on nothing is.
roofline count -o preloaded -- true
roofline count --launcher -o launched -- true
grep -c '^uncounted .* the dynamic loader' preloaded
grep -c '^uncounted ' launched || true
awk '$1 == "instructions" { n[FILENAME] = $2 } END { print (n["launched"] > n["preloaded"] ? "more" : "not more") }' preloaded launched
