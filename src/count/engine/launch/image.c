#include "count/engine/launch/image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

static const char *read_all(const char *path, struct image *image)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return "cannot be opened";
    const char *error = "cannot be read";
    if (fstat(fd, &status) == 0 && status.st_size > (off_t)sizeof(Elf64_Ehdr)) {
        image->n_bytes = (size_t)status.st_size;
        image->bytes = malloc(image->n_bytes);
        if (image->bytes && read(fd, image->bytes, image->n_bytes) == status.st_size)
            error = NULL;
    }
    close(fd);
    return error;
}

static bool lies_within(const struct image *image, uint64_t offset, uint64_t bytes)
{
    return offset <= image->n_bytes && bytes <= image->n_bytes - offset;
}

/* Our own object: virtual addresses of read-only parts equal file offsets. */
static const char *read_dynamic(struct image *image, const Elf64_Phdr *dynamic)
{
    uint64_t at = 0, bytes = 0;
    const Elf64_Dyn *d = (const void *)(image->bytes + dynamic->p_offset);
    for (size_t i = 0; i < dynamic->p_filesz / sizeof(*d) && d[i].d_tag != DT_NULL; i++) {
        if (d[i].d_tag == DT_RELA)
            at = d[i].d_un.d_ptr;
        if (d[i].d_tag == DT_RELASZ)
            bytes = d[i].d_un.d_val;
    }
    if (!lies_within(image, at, bytes))
        return "has relocations out of bounds";
    image->relocation = (const void *)(image->bytes + at);
    image->n_relocations = bytes / sizeof(Elf64_Rela);
    for (size_t i = 0; i < image->n_relocations; i++)
        if (ELF64_R_TYPE(image->relocation[i].r_info) != R_X86_64_RELATIVE)
            return "has relocations of an unexpected kind";
    return NULL;
}

/* The word in front of the entry point leads to it. */
static const char *find_control(struct image *image)
{
    uint64_t entry = image->header->e_entry, distance;
    if (entry < sizeof(distance) || !lies_within(image, entry - sizeof(distance), sizeof(distance)))
        return "has no entry point";
    memcpy(&distance, image->bytes + entry - sizeof(distance), sizeof(distance));
    image->control = entry + distance;
    return image->control < image->span ? NULL : "has no control structure";
}

static const char *check(struct image *image)
{
    const Elf64_Ehdr *h = image->header = (const void *)image->bytes;
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_machine != EM_X86_64 ||
        h->e_type != ET_DYN || h->e_phentsize != sizeof(Elf64_Phdr) ||
        !lies_within(image, h->e_phoff, h->e_phnum * sizeof(Elf64_Phdr)))
        return "is no x86-64 shared object";
    image->segment = (const void *)(image->bytes + h->e_phoff);
    const char *error = "has no dynamic section";
    for (unsigned i = 0; i < h->e_phnum; i++) {
        const Elf64_Phdr *p = &image->segment[i];
        if (p->p_type != PT_LOAD && p->p_type != PT_DYNAMIC)
            continue;
        if (!lies_within(image, p->p_offset, p->p_filesz))
            return "is cut short";
        if (p->p_type == PT_DYNAMIC)
            error = read_dynamic(image, p);
        else if (p->p_vaddr + p->p_memsz > image->span)
            image->span = p->p_vaddr + p->p_memsz;
    }
    image->span = (image->span + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    return error ? error : find_control(image);
}

const char *image_read(const char *path, struct image *ret_image)
{
    memset(ret_image, 0, sizeof(*ret_image));
    ret_image->path = path;
    const char *error = read_all(path, ret_image);
    if (!error)
        error = check(ret_image);
    if (error)
        image_release(ret_image);
    return error;
}

void image_release(struct image *image)
{
    free(image->bytes);
    image->bytes = NULL;
}
