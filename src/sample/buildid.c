#include "sample/buildid.h"

#include "base/elf.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Notes longer than this are not looked at: a build id stands at the front. */
#define MAX_NOTE_BYTES    4096
#define MAX_PROGRAM_HEADS 128

static size_t padded(uint32_t n)
{
    return ((size_t)n + 3) & ~(size_t)3;
}

size_t build_id_from_notes(const uint8_t *note, size_t n, uint8_t ret_id[RL_SAMPLE_BUILD_ID_MAX])
{
    while (n >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr head;
        memcpy(&head, note, sizeof head);
        size_t name = padded(head.n_namesz);
        size_t id = padded(head.n_descsz);
        n -= sizeof head;
        note += sizeof head;
        if (name > n || id > n - name)
            return 0;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && !memcmp(note, "GNU", 4) &&
            head.n_descsz <= RL_SAMPLE_BUILD_ID_MAX) {
            memcpy(ret_id, note + name, head.n_descsz);
            return head.n_descsz;
        }
        note += name + id;
        n -= name + id;
    }
    return 0;
}

static size_t read_build_id(int fd, uint8_t ret_id[RL_SAMPLE_BUILD_ID_MAX])
{
    Elf64_Ehdr head;
    if (!rl_elf_head(fd, &head) || head.e_phnum > MAX_PROGRAM_HEADS)
        return 0;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr segment;
        uint8_t note[MAX_NOTE_BYTES];
        if (!rl_elf_segment(fd, &head, i, &segment))
            return 0;
        if (segment.p_type != PT_NOTE)
            continue;
        size_t n = segment.p_filesz < sizeof note ? segment.p_filesz : sizeof note;
        ssize_t got = pread(fd, note, n, (off_t)segment.p_offset);
        size_t n_id = got > 0 ? build_id_from_notes(note, (size_t)got, ret_id) : 0;
        if (n_id)
            return n_id;
    }
    return 0;
}

void module_identify(struct rl_sample_module *module)
{
    struct stat st;
    int fd = open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (!module->inode || module->inode == st.st_ino)) {
        module->inode = st.st_ino;
        module->size_bytes = (uint64_t)st.st_size;
        module->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        module->n_build_id = read_build_id(fd, module->build_id);
    }
    close(fd);
}
