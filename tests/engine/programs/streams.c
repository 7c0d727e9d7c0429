/* Reads, stores and copies that stream through arrays of 1 MiB again and again, a byte of each
 * line; all arrays were written before. Prints "expect FUNCTION READ ALLOCATED WRITTEN": the lines
 * that a level holds for it which they fit, behind one that they don't; what the levels nearer to
 * the core hold from before or in the end, some thousand lines, may be written by it or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL __attribute__((noinline))

enum { LINE = 64, BYTES = 1 << 20, ROUNDS = 100 };

KERNEL unsigned reads(const volatile char *a)
{
    unsigned sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < BYTES; i += LINE)
            sum += (unsigned)a[i];
    return sum;
}

KERNEL void stores(volatile char *a)
{
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < BYTES; i += LINE)
            a[i] = 1;
}

KERNEL void copies(volatile char *to, const volatile char *from)
{
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < BYTES; i += LINE)
            to[i] = from[i];
}

int main(void)
{
    char *a = aligned_alloc(LINE, BYTES);
    char *b = aligned_alloc(LINE, BYTES);
    if (!a || !b)
        return 2;
    memset(a, 1, BYTES);
    memset(b, 1, BYTES);
    if (reads(a) != ROUNDS * (BYTES / LINE))
        return 1;
    stores(b);
    copies(b, a);
    const int lines = ROUNDS * (BYTES / LINE);
    printf("expect reads %d 0 0\nexpect stores 0 %d %d\nexpect copies %d %d %d\n", lines, lines,
           lines, lines, lines, lines);
    return 0;
}
