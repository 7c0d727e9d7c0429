# Installed below a folder with a blank and a colon, it samples and counts: programs, static ones, and what they start.
build=$(dirname "$PROGRAM")
phases=$build/tests/programs/phases
test -e "$build/src/count/engine/libroofline-engine.so" && test -x "$phases" || { echo "no engine was built"; exit 77; }
at="a b:c"
mkdir -p "$at/bin" "$at/lib/roofline"
cp "$PROGRAM" "$at/bin/"
cp "$build/src/count/engine/libroofline-engine.so" "$build/src/count/engine/roofline-engine-launch" \
    "$build/src/sample/librooflinesample.so" "$at/lib/roofline/"
check() {
    how=$1
    shift
    "$at/bin/roofline" record -q -o p.json --sampling "$how" --traffic none -- "$@" > out || test $? -eq 3
    grep -c . out
    # multiplications of the region that the preloaded object saw begin, and how time was had
    tr -d ' \n' < p.json | sed 's/{"name":/\n&/g' | grep '"name":"multiply","kind":"region"' |
        grep -o '"op":"mul","isa":"scalar","count":{"value":10485760' || echo "no region"
    grep -o "sampled .* ($how)" p.json | sed 's/[0-9]* times a second //' || true
}
check timer "$phases" 64 2
check timer sh -c '"$0" 64 2; exit 3' "$phases"
test ! -x "${phases}_static" || check perf sh -c '"$0" 64 2; exit 3' "${phases}_static" | grep mul
