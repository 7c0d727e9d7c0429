#include "sample/buildid.h"

#include "base/elf.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Notes longer than this are not looked at: a build id stands at the front. */
#define MAX_NOTE_BYTES    4096
#define MAX_PROGRAM_HEADS 128
/* A larger file that cannot be held is not copied either. */
#define MAX_COPY_BYTES ((uint64_t)64 << 20)
#define NS_PER_S       1000000000
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

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

/* The file at `path`, if it is the mapped one. */
static int open_same(const char *path, uint64_t inode, struct stat *ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && (!inode || inode == ret->st_ino))
        return fd;
    close(fd);
    return -1;
}

/* A program that deleted its file is found by the link of its process, one in a container by the
 * process's root, a deleted library, with the right to it, by its mapping. */
static int open_mapped(const struct rl_sample_module *module, const struct module_mapping *m,
                       struct stat *ret)
{
    enum { WAYS = 4, LONGEST = PATH_MAX + 64 };
    char way[WAYS][LONGEST];
    int fd = open_same(module->path, module->inode, ret);
    if (fd >= 0 || !module->inode)
        return fd;
    snprintf(way[0], LONGEST, "/proc/self/fd/%d", m->program_fd);
    snprintf(way[1], LONGEST, "/proc/%d/exe", (int)m->pid);
    snprintf(way[2], LONGEST, "/proc/%d/root%s", (int)m->pid, module->path);
    snprintf(way[3], LONGEST, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)m->pid, m->start,
             m->end);
    for (unsigned i = m->program_fd < 0; i < WAYS && fd < 0; i++)
        fd = open_same(way[i], module->inode, ret);
    return fd;
}

/* To hold a file of these would show: the one cannot be unmounted, the other leaves another name
 * where it is deleted. */
static bool is_held_in_secret(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type != FUSE_SUPER_MAGIC && fs.f_type != NFS_SUPER_MAGIC;
}

static int copy_of(int fd, uint64_t size)
{
    int copy = size <= MAX_COPY_BYTES ? memfd_create("module", MFD_CLOEXEC) : -1;
    off_t at = 0;
    while (copy >= 0 && (uint64_t)at < size && sendfile(copy, fd, &at, size - (uint64_t)at) > 0)
        ;
    if (copy >= 0 && (uint64_t)at < size) {
        close(copy);
        copy = -1;
    }
    return copy;
}

/* Takes `fd`. Half of the descriptors are left for all else. */
static int hold(int fd, uint64_t size)
{
    struct rlimit limit;
    int held = is_held_in_secret(fd) ? fd : copy_of(fd, size);
    if (held != fd)
        close(fd);
    bool is_crowded = getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)held > limit.rlim_cur / 2;
    if (held < 0 || !is_crowded)
        return held;
    close(held);
    return -1;
}

void module_identify(struct rl_sample_module *module, const struct module_mapping *mapping)
{
    struct stat st;
    int fd = open_mapped(module, mapping, &st);
    if (fd < 0)
        return;
    module->inode = st.st_ino;
    module->size_bytes = (uint64_t)st.st_size;
    module->mtime_ns = (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
    module->n_build_id = read_build_id(fd, module->build_id);
    module->held_plus_one = hold(fd, module->size_bytes) + 1;
}

void module_release(struct rl_sample_module *module)
{
    if (module->held_plus_one)
        close(module->held_plus_one - 1);
    free(module->path);
    *module = (struct rl_sample_module){0};
}
