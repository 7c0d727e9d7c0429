/* The engine object as a file, for mapping it into a process that has no dynamic loader to do it.
 */
#ifndef RL_COUNT_ENGINE_LAUNCH_IMAGE_H
#define RL_COUNT_ENGINE_LAUNCH_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image {
    const char *path; /**< borrowed */
    uint8_t *bytes;
    size_t n_bytes;
    const Elf64_Ehdr *header;
    const Elf64_Phdr *segment;
    const Elf64_Rela *relocation; /**< all of kind R_X86_64_RELATIVE */
    size_t n_relocations;
    uint64_t control; /**< address of the control structure (control.h), relative to the base */
    uint64_t span;    /**< bytes of address space it needs, a multiple of the page size */
};

/** Read and check. @return NULL, or what is wrong with the file. */
const char *image_read(const char *path, struct image *ret_image);
void image_release(struct image *image);

#endif
