/* Usage: moody WAY. A program that may do something else each time, by a file that it leaves
 * behind, and that ends and writes alike whatever it does. Ways: same, function (another one the
 * second time), block (another part of one function), less (a fortieth of the work), more (a
 * second function after the first). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 150000000 };

__attribute__((noinline)) static double multiply(double x, long n)
{
    for (long i = 0; i < n; i++)
        x = x * 0.999999 + 1e-7;
    return x;
}

__attribute__((noinline)) static double divide(double x, long n)
{
    for (long i = 0; i < n / 4; i++)
        x = 1 / (x + 1e-7);
    return x;
}

__attribute__((noinline)) static double either(double x, long n, int which)
{
    if (which) {
        for (long i = 0; i < n; i++)
            x = x * 0.999999 + 1e-7;
    } else {
        for (long i = 0; i < n / 4; i++)
            x = 1 / (x + 1e-7);
    }
    return x;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "same";
    int again = access("moody.seen", F_OK) == 0;
    FILE *seen = fopen("moody.seen", "w");
    if (seen)
        fclose(seen);
    double x = 1;
    if (!strcmp(way, "function"))
        x = again ? divide(x, ROUNDS) : multiply(x, ROUNDS);
    else if (!strcmp(way, "block"))
        x = either(x, ROUNDS, again);
    else if (!strcmp(way, "less"))
        x = multiply(x, again ? ROUNDS / 10 : 4L * ROUNDS);
    else if (!strcmp(way, "more"))
        x = multiply(x, ROUNDS / 2) + (again ? divide(x, 16L * ROUNDS) : 0);
    else
        x = multiply(x, ROUNDS) + divide(x, ROUNDS);
    printf("%s\n", x > 0 ? "positive" : "negative");
    return 0;
}
