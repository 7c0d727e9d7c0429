/* Accesses to known addresses, and what they move by a naive LRU model of two levels: repeats SEED
 * SETS WAYS SETS WAYS. Prints "expect READS ALLOCATES WRITEBACKS READS ALLOCATES WRITEBACKS", in
 * lines, of what the function `walk` does. Its write-backs may be a few more: of the stack's lines,
 * written before. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL __attribute__((noinline))

enum {
    LINE = 64,
    WAYS_MAX = 32,
    SETS_MAX = 1024,
    STEPS = 10000,
    PAGE = 4096,
    AREA = 1 << 16,
    SWEEP = 1 << 20,
};

/* Where each access of a step is. */
struct step {
    uint32_t at[8];
};

/* Reads all words, to have the caches in a known state; then the steps: narrow and wide loads,
 * stores, updates, across lines or not, repeated at once or behind others by the same registers,
 * with flags that are needed afterwards. Returns where the stack pointer stands. */
KERNEL uint64_t walk(const struct step *step, char *area, const char *words)
{
    uint64_t stack, n = STEPS;
    __asm__ volatile("xor %%eax, %%eax\n"
                     "1: mov (%[words], %%rax), %%rcx\n"
                     "add $64, %%rax\n"
                     "cmp %[sweep], %%rax\n"
                     "jb 1b\n"
                     "2: mov (%[step]), %%ecx\n"
                     "movzbl (%[area], %%rcx), %%eax\n"
                     "mov 4(%[step]), %%ecx\n"
                     "add (%[area], %%rcx), %%rax\n"
                     "mov 8(%[step]), %%ecx\n"
                     "mov %%rax, (%[area], %%rcx)\n"
                     "mov 12(%[step]), %%ecx\n"
                     "lea (%[area], %%rcx), %%rdx\n"
                     "movb $1, 9(%%rdx)\n"
                     "mov 16(%[step]), %%ecx\n"
                     "addq $1, (%[area], %%rcx)\n"
                     "mov 20(%[step]), %%ecx\n"
                     "movups (%[area], %%rcx), %%xmm0\n"
                     "mov 24(%[step]), %%ecx\n"
                     "lea (%[area], %%rcx), %%rdx\n"
                     "mov (%%rdx), %%rax\n"
                     "add 4096(%%rdx), %%rax\n"
                     "mov %%rax, 8(%%rdx)\n"
                     "mov 28(%[step]), %%ecx\n"
                     "lea (%[area], %%rcx), %%rdx\n"
                     "cmp %%rcx, %%rax\n"
                     "mov (%%rdx), %%rcx\n"
                     "mov %%rcx, 64(%%rdx)\n"
                     "adc $0, %%rax\n"
                     "add $32, %[step]\n"
                     "sub $1, %[n]\n"
                     "jne 2b\n"
                     "mov %%rsp, %[stack]\n"
                     : [step] "+&r"(step), [n] "+&r"(n), [stack] "=&r"(stack)
                     : [area] "r"(area), [words] "r"(words), [sweep] "i"(SWEEP)
                     : "rax", "rcx", "rdx", "xmm0", "memory", "cc");
    return stack;
}

/* So that what was written before does not leave the caches on the account of `walk`. */
KERNEL uint64_t sweep(const char *words)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SWEEP; i += LINE)
        sum += ((const volatile char *)words)[i];
    return sum;
}

/* ---- the model: line numbers by age, most recent first; bit 0 says dirty ---- */

struct level {
    unsigned sets, ways;
    uint64_t line[SETS_MAX][WAYS_MAX]; /* number << 1 | dirty; 0: none */
    uint64_t reads, allocates, writebacks;
};

static struct level level[2];

/* Make it the most recent; returns what left for it. */
static uint64_t use(struct level *l, uint64_t entry, int *ret_hit)
{
    uint64_t *set = l->line[(entry >> 1) % l->sets];
    unsigned at = 0;
    while (at < l->ways - 1 && set[at] >> 1 != entry >> 1)
        at++;
    *ret_hit = set[at] >> 1 == entry >> 1;
    uint64_t gone = *ret_hit ? 0 : set[at];
    entry |= *ret_hit ? set[at] & 1 : 0;
    memmove(set + 1, set, at * sizeof *set);
    set[0] = entry;
    return gone;
}

static void arrive(uint64_t gone)
{
    int hit;
    if (!(gone & 1))
        return;
    level[0].writebacks++;
    level[1].writebacks += use(&level[1], gone, &hit) & 1;
}

static void touch(uint64_t address, unsigned bytes, int stores, int loads)
{
    for (uint64_t line = address / LINE; line <= (address + bytes - 1) / LINE; line++) {
        int hit;
        uint64_t gone = use(&level[0], line << 1 | (uint64_t)stores, &hit);
        if (hit)
            continue;
        *(loads ? &level[0].reads : &level[0].allocates) += 1;
        uint64_t gone_2 = use(&level[1], line << 1, &hit);
        if (!hit)
            *(loads ? &level[1].reads : &level[1].allocates) += 1;
        level[1].writebacks += gone_2 & 1;
        arrive(gone);
    }
}

static void touch_step(const struct step *step, uint64_t area)
{
    uint64_t at[8];
    for (int i = 0; i < 8; i++)
        at[i] = area + step->at[i];
    uint64_t table = (uint64_t)step->at; /* read in front of each */
    touch(table, 4, 0, 1);
    touch(at[0], 1, 0, 1);
    touch(table + 4, 4, 0, 1);
    touch(at[1], 8, 0, 1);
    touch(table + 8, 4, 0, 1);
    touch(at[2], 8, 1, 0);
    touch(table + 12, 4, 0, 1);
    touch(at[3] + 9, 1, 1, 0);
    touch(table + 16, 4, 0, 1);
    touch(at[4], 8, 1, 1);
    touch(table + 20, 4, 0, 1);
    touch(at[5], 16, 0, 1);
    touch(table + 24, 4, 0, 1);
    touch(at[6], 8, 0, 1);
    touch(at[6] + PAGE, 8, 0, 1);
    touch(at[6] + 8, 8, 1, 0);
    touch(table + 28, 4, 0, 1);
    touch(at[7], 8, 0, 1);
    touch(at[7] + LINE, 8, 1, 0);
}

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 20) % below;
}

/* Stay in a line, jump by a set's distance, or go anywhere. */
static void draw_steps(struct step *step)
{
    uint32_t at = 0;
    for (unsigned i = 0; i < STEPS; i++)
        for (unsigned k = 0; k < 8; k++) {
            uint32_t kind = draw(8);
            if (kind < 4)
                at = at / LINE * LINE + draw(LINE);
            else
                at = kind < 6 ? at % PAGE + PAGE * draw(AREA / PAGE) : draw(AREA);
            step[i].at[k] = at;
        }
}

int main(int argc, char **argv)
{
    struct step *step = aligned_alloc(PAGE, sizeof *step * STEPS + PAGE);
    char *area = aligned_alloc(PAGE, AREA + 3 * PAGE);
    char *words = aligned_alloc(PAGE, SWEEP);
    if (argc < 6 || !step || !area || !words)
        return 2;
    random_state = strtoull(argv[1], NULL, 10) * 2654435761u + 88172645463325252u;
    for (int k = 0; k < 2; k++) {
        level[k].sets = (unsigned)atoi(argv[2 + 2 * k]);
        level[k].ways = (unsigned)atoi(argv[3 + 2 * k]);
        if (level[k].sets < 1 || level[k].sets > SETS_MAX || level[k].ways < 1 ||
            level[k].ways > WAYS_MAX)
            return 2;
    }
    draw_steps(step);
    memset(area, 1, AREA + 3 * PAGE);
    memset(words, 1, SWEEP);
    if (sweep(words) != SWEEP / LINE)
        return 1;
    uint64_t stack = walk(step, area, words);
    for (uint64_t at = 0; at < SWEEP; at += LINE)
        touch((uint64_t)words + at, 8, 0, 1);
    for (unsigned i = 0; i < STEPS; i++)
        touch_step(&step[i], (uint64_t)area);
    touch(stack, 8, 0, 1); /* the return address */
    printf("expect");
    for (int k = 0; k < 2; k++)
        printf(" %llu %llu %llu", (unsigned long long)level[k].reads,
               (unsigned long long)level[k].allocates, (unsigned long long)level[k].writebacks);
    putchar('\n');
    return 0;
}
