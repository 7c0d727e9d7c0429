#include "base/library.h"

#include "base/elf.h"
#include "base/error.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes the file must have for the loader; 0 if it is none to check. */
static uint64_t bytes_needed(int fd)
{
    Elf64_Ehdr head;
    if (!rl_elf_head(fd, &head) || head.e_phoff > INT64_MAX)
        return 0;
    uint64_t most = head.e_phoff + (uint64_t)head.e_phnum * sizeof(Elf64_Phdr);
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr segment;
        if (!rl_elf_segment(fd, &head, i, &segment))
            break;
        uint64_t end = segment.p_offset + segment.p_filesz;
        if (segment.p_type == PT_LOAD && end >= segment.p_offset && end > most)
            most = end;
    }
    return most;
}

enum rl_status rl_library_check(const char *path, struct rl_error *err)
{
    struct stat st;
    if (!strchr(path, '/'))
        return RL_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    uint64_t needed = is_file ? bytes_needed(fd) : 0;
    if (fd >= 0)
        close(fd);
    if (!is_file || needed <= (uint64_t)st.st_size)
        return RL_OK;
    return rl_fail(err, RL_EDATA,
                   "%s was cut off: it has %lld bytes where its program headers name %llu; copy or "
                   "build it again",
                   path, (long long)st.st_size, (unsigned long long)needed);
}
