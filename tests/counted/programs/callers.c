/* Functions that call each other in every way there is; what one run of the program makes each do
 * together with what it calls can be worked out by hand. Prints function, "total", FLOP; "estimate"
 * where it cannot be proved from counts. */
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define FUNCTION __attribute__((noinline))
#else
#define FUNCTION __attribute__((noinline, noclone))
#endif

enum { N = 100, ROUNDS = 30, DEPTH = 12, SORTED = 5000, MANY = 20000000 };

static double x[SORTED];
static long compared;
static volatile double sink;

/* 2n */
FUNCTION double leaf(double s, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += s * x[i];
    return sum;
}

/* 2 calls of the leaf and an add */
FUNCTION double middle(double s)
{
    return leaf(s, N) + leaf(s, 2 * N);
}

/* a jump, not a call, where it is optimised */
FUNCTION double tail(double s)
{
    return middle(s);
}

/* 2^DEPTH - 1 adds */
FUNCTION double recurse(int depth, double s)
{
    return depth ? recurse(depth - 1, s) + recurse(depth - 1, x[1]) : s;
}

FUNCTION double even(int n, double s);

/* n/2 each */
FUNCTION double odd(int n, double s)
{
    return n ? even(n - 1, s) * s : s;
}

FUNCTION double even(int n, double s)
{
    return n ? odd(n - 1, s) * s : s;
}

FUNCTION double circle(double s)
{
    return even(N, s);
}

FUNCTION double pointed(double s)
{
    return s * s + s;
}

static double (*volatile pointer)(double) = pointed;

/* more often than all other pointers of the program and its libraries are called */
FUNCTION double through_pointer(double s)
{
    for (int i = 0; i < MANY; i++)
        s = pointer(s) > 1 ? 0.5 : s;
    return s;
}

FUNCTION double once(double s)
{
    return s + 1;
}

FUNCTION double twice(double s)
{
    return s * s + 1;
}

static double (*volatile several[])(double) = {once, twice, twice};

/* one place, two functions */
FUNCTION double through_several(double s)
{
    for (int i = 0; i < 3 * SORTED; i++)
        s = several[i % 3](s) > 2 ? 0.5 : s;
    return s;
}

FUNCTION int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    compared++;
    return (difference > 0) - (difference < 0);
}

/* back from the C library */
FUNCTION void sort(void)
{
    qsort(x, SORTED, sizeof *x, compare);
}

static void say(const char *function, const char *what, double total)
{
    printf("%s\t%s\t%.0f\n", function, what, total);
}

int main(void)
{
    for (int i = 0; i < SORTED; i++)
        x[i] = i * 7919 % SORTED;
    for (int i = 0; i < ROUNDS; i++)
        sink = tail(1.5);
    sink = recurse(DEPTH, 1.0);
    sink = circle(1.0);
    sink = through_pointer(0.25);
    sink = through_several(0.25);
    sort();
    say("leaf", "total", 6.0 * N * ROUNDS);
    say("middle", "total", (6.0 * N + 1) * ROUNDS);
    say("tail", "total", (6.0 * N + 1) * ROUNDS);
    say("recurse", "total", (1 << DEPTH) - 1);
    say("circle", "total", N);
    say("through_pointer", "total", 2.0 * MANY);
    say("through_several", "estimate", 5.0 * SORTED);
    say("compare", "total", (double)compared);
    say("sort", "estimate", (double)compared);
    return 0;
}
