/* A small kernel as the engine would have counted it, for tests of what is made from counts. */
#ifndef TESTS_SUPPORT_COUNTED_KERNEL_H
#define TESTS_SUPPORT_COUNTED_KERNEL_H

#include "profile/tally.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "result_image.h"

/* A kernel whose every byte is known: outer loop around an inner one that multiplies and adds.
 *
 * [ 0] mov   $8, %edx           5 bytes
 * [ 5] mov   $16, %ecx          5   outer head
 * [10] movsd (%rsi), %xmm0      4   inner head: loads 8
 * [14] mulsd (%rdi), %xmm0      4   loads 8, fp64 mul
 * [18] addsd %xmm0, %xmm1       4   fp64 add
 * [22] dec   %ecx               2
 * [24] jne   10                 2
 * [26] movsd %xmm1, (%rdi)      4   stores 8
 * [30] dec   %edx               2
 * [32] jne   5                  2
 * [34] ret                      1   loads 8 */
__asm__(".text\n"
        ".globl rl_test_kernel\n"
        ".type rl_test_kernel, @function\n"
        "rl_test_kernel:\n"
        "  movl $8, %edx\n"
        "1: movl $16, %ecx\n"
        "2: movsd (%rsi), %xmm0\n"
        "  mulsd (%rdi), %xmm0\n"
        "  addsd %xmm0, %xmm1\n"
        "  decl %ecx\n"
        "  jne 2b\n"
        "  movsd %xmm1, (%rdi)\n"
        "  decl %edx\n"
        "  jne 1b\n"
        "  ret\n"
        ".size rl_test_kernel, . - rl_test_kernel\n"
        ".globl rl_test_after\n"
        ".type rl_test_after, @function\n"
        "rl_test_after:\n"
        "  vfmadd231pd %zmm1, %zmm2, %zmm3{%k1}\n"
        "  rep stosb\n"
        "  ret\n"
        ".size rl_test_after, . - rl_test_after\n");

extern const uint8_t rl_test_kernel[], rl_test_after[];

enum { CALLS = 3, OUTER = 8, INNER = 16, SIZE = 35 };

struct fixture {
    uint64_t offset; /* of rl_test_kernel in this program's file */
    char path[64];
};

static int find_code(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    uintptr_t address = (uintptr_t)rl_test_kernel;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type == PT_LOAD && address >= begin && address < begin + ph->p_memsz) {
            *(uint64_t *)data = ph->p_offset + (address - begin);
            return 1;
        }
    }
    return 0;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    strcpy(fixture.path, "/tmp/rl_tally_XXXXXX");
    int fd = mkstemp(fixture.path);
    *state = &fixture;
    return fd < 0 || close(fd) || !dl_iterate_phdr(find_code, &fixture.offset);
}

static int tear_down(void **state)
{
    return unlink(((struct fixture *)*state)->path);
}

/* The kernel's blocks as the engine finds them: entered thrice. */
static void add_kernel(struct result_image *image, uint32_t module, uint64_t address)
{
    uint32_t first = image_block(image, module, address, rl_test_kernel, 26, 7, 2);
    image_block(image, module, address + 26, rl_test_kernel + 26, 8, 3, 3);
    image_block(image, module, address + 34, rl_test_kernel + 34, 1, 1, RLE_NONE);
    image_fragment(image, first, 1);
    first = image_block(image, module, address + 10, rl_test_kernel + 10, 16, 5, RLE_NONE);
    image_fragment(image, first, 4);
    first = image_block(image, module, address + 26, rl_test_kernel + 26, 8, 3, 6);
    image_block(image, module, address + 34, rl_test_kernel + 34, 1, 1, RLE_NONE);
    image_fragment(image, first, 5);
    first = image_block(image, module, address + 5, rl_test_kernel + 5, 21, 6, RLE_NONE);
    image_fragment(image, first, 7);
}

/* Fragment by fragment: the first pass enters with the prologue and leaves for the inner head;
 * later passes of the outer loop come back to its head. */
static void kernel_counters(uint64_t calls, uint64_t *ret)
{
    memset(ret, 0, 8 * sizeof *ret);
    ret[1] = calls;                       /* prologue, first inner pass … */
    ret[2] = calls;                       /* … always goes round */
    ret[4] = calls * OUTER * (INNER - 1); /* inner passes */
    ret[5] = calls * OUTER;               /* behind the inner loop … */
    ret[6] = calls * (OUTER - 1);         /* … and back to the outer head */
    ret[7] = calls * (OUTER - 1);
}

static void write_image(const char *path, const struct result_image *image)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(image->data, 1, sizeof image->data, file);
    fclose(file);
}

static void build(struct fixture *f, const struct result_image *image,
                  const struct rl_tally_options *options, struct rl_tally *ret)
{
    struct rl_error err = {0};
    write_image(f->path, image);
    const char *path = f->path;
    if (rl_tally_build(&path, 1, options, ret, &err))
        fail_msg("%s", err.text);
}

static void kernel_image(const struct fixture *f, struct result_image *image)
{
    image_init(image);
    image_module(image, "/proc/self/exe", 0x400000, 1u << 24, 0);
    add_kernel(image, 0, 0x400000 + f->offset);
}

#endif
