# Split debug information that cannot be read is said to be lacking; lines are there without it.
cat >s.c <<'END'
static inline __attribute__((always_inline)) double in(double x) { return x * 1.5 + 1; }
int main(void)
{
    double sum = 0;
    for (int i = 0; i < 20000000; i++)
        sum += in(i);
    return sum < 0;
}
END
gcc -O2 -g -gdwarf-5 -gsplit-dwarf -o packed s.c 2>/dev/null && ls *.dwo >/dev/null || exit 77
roofline record -q -o whole.json --loops --traffic none -- ./packed
grep -c 'packed have no names' whole.json || true
rm *.dwo
roofline record -q -o lost.json --loops --traffic none -- ./packed
grep -o '(.dwo) is not where it was compiled' lost.json
grep -o '"line": *[0-9]*' lost.json | sort -u | wc -l | sed 's/^[1-9].*/lines/'
