/* Follows pointers in random order through 128 MiB, a line each: every load waits for the one
 * before. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N     (1u << 21)
#define STEPS 4000000

struct line {
    struct line *next;
    char rest[56];
};

static struct line line[N];

__attribute__((noinline)) static struct line *follow(struct line *at, long steps)
{
    for (long i = 0; i < steps; i++)
        at = at->next;
    return at;
}

/* One cycle through all lines (Sattolo). */
static void shuffle(void)
{
    static uint32_t order[N];
    uint64_t random = 1;
    for (uint32_t i = 0; i < N; i++)
        order[i] = i;
    for (uint32_t i = N - 1; i > 0; i--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t j = (uint32_t)((random >> 33) % i), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (uint32_t i = 0; i < N; i++)
        line[order[i]].next = &line[order[(i + 1) % N]];
}

int main(int argc, char **argv)
{
    (void)argv;
    shuffle();
    printf("%ld\n", (long)(follow(line, STEPS + argc) - line));
    return 0;
}
