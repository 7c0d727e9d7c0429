# A region of the main thread counts, and has the threads of, the parallel work in it, however that was begun.
workers=$(dirname "$PROGRAM")/tests/programs/workers
test -x "$workers" || { echo "no OpenMP here"; exit 77; }
# `values KIND NAME`: threads, and fp64 mul, of which each shape does one per element.
values() {
    tr -d ' \n' <p.json | sed 's/{"name":/\n&/g' |
        sed -nE 's/^\{"name":"'$2'","kind":"'$1'".*"threads":\{"value":([0-9.e+]*).*"op":"mul"[^}]*"value":([0-9.e+]*).*/\1 \2/p'
}
for shape in openmp inside pool mixed apart short; do
    roofline record -q -o p.json --regions --traffic none -- "$workers" $shape 2
    # Of the program, which does little else, samples tell the threads whatever else the machine is doing.
    echo "$(values program workers) $(values region work)" | awk -v shape=$shape '
        NF != 4 { print shape ": values are missing:", $0 }
        { threads = $1; part = 1 }
        shape == "apart" { threads = 1; part = 1 / 2 }
        shape == "short" { threads = 1; part = 2 / 3 }
        { print shape, "threads", ($3 > 0.85 * threads && $3 >= 0.99 && $3 <= 2.05),
          "FLOP", ($4 > 0.99 * part * $2 && $4 < 1.01 * part * $2) }'
done
