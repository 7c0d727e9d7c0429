# A library that was cut off is named, at whatever length; loading it would end in a bus error.
library=$(ldd "$PROGRAM" | sed -n 's/.* => \(\/[^ ]*libjansson[^ ]*\) .*/\1/p' | head -1)
test -n "$library" || { echo "no library to cut off was found"; exit 77; }
size=$(stat -L -c %s "$library")
for part in 3 60 90; do
    head -c $((size * part / 100)) "$library" >"./cut.so"
    status=0
    roofline bench gemm --variant blas --blas ./cut.so -t 1 >out 2>err || status=$?
    test $status -lt 100 || echo "$part %: status $status"
    grep -o './cut.so was cut off' err || cat err
done
