/* Repeated string instructions, whose bytes depend on a register. Prints function, "load" or
 * "store", bytes: the return loads 8 at each call. */
#include <stdio.h>

__asm__(".text\n"
        ".macro function name\n"
        ".globl \\name\n"
        ".type \\name, @function\n"
        "\\name:\n"
        ".endm\n"
        "function move_bytes\n"
        "  movq %rdx, %rcx\n"
        "  rep movsb\n"
        "  ret\n"
        ".size move_bytes, . - move_bytes\n"
        "function fill_words\n"
        "  movq %rsi, %rcx\n"
        "  xorl %eax, %eax\n"
        "  rep stosq\n"
        "  ret\n"
        ".size fill_words, . - fill_words\n"
        /* the flags of the comparison must survive what is counted in between */
        "function load_words\n"
        "  movq %rsi, %rcx\n"
        "  movq %rdi, %rsi\n"
        "  cmpq $1000, %rcx\n"
        "  rep lodsl\n"
        "  movl $0, %eax\n"
        "  adcl $0, %eax\n"
        "  ret\n"
        ".size load_words, . - load_words\n");

void move_bytes(void *to, const void *from, size_t n);
void fill_words(void *to, size_t n);
int load_words(const void *from, size_t n);

enum { ROUNDS = 37, MOST = 4000, RETURN_BYTES = 8 };

static char a[8 * MOST], b[8 * MOST];

int main(void)
{
    size_t moved = 0, filled = 0, loaded = 0, below = 0;
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t n = i * 97 % MOST; /* 0 too */
        move_bytes(a, b, n);
        fill_words(b, n / 3);
        below += (size_t)load_words(a, n);
        moved += n;
        filled += 8 * (n / 3);
        loaded += 4 * n;
    }
    size_t expected_below = 0;
    for (size_t i = 0; i < ROUNDS; i++)
        expected_below += i * 97 % MOST < 1000;
    if (below != expected_below)
        return 1;
    printf("move_bytes\tload\t%zu\n", moved + RETURN_BYTES * ROUNDS);
    printf("move_bytes\tstore\t%zu\n", moved);
    printf("fill_words\tload\t%d\n", RETURN_BYTES * ROUNDS);
    printf("fill_words\tstore\t%zu\n", filled);
    printf("load_words\tload\t%zu\n", loaded + RETURN_BYTES * ROUNDS);
    return 0;
}
