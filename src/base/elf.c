#include "base/elf.h"

#include <string.h>
#include <unistd.h>

bool rl_elf_read(int fd, void *ret, size_t size, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, ret, size, (off_t)offset) == (ssize_t)size;
}

bool rl_elf_head(int fd, Elf64_Ehdr *ret_head)
{
    return rl_elf_read(fd, ret_head, sizeof *ret_head, 0) &&
           !memcmp(ret_head->e_ident, ELFMAG, SELFMAG) &&
           ret_head->e_ident[EI_CLASS] == ELFCLASS64 && ret_head->e_phentsize == sizeof(Elf64_Phdr);
}

bool rl_elf_segment(int fd, const Elf64_Ehdr *head, unsigned i, Elf64_Phdr *ret_segment)
{
    uint64_t at = head->e_phoff + (uint64_t)i * sizeof *ret_segment;
    return at >= head->e_phoff && rl_elf_read(fd, ret_segment, sizeof *ret_segment, at);
}
