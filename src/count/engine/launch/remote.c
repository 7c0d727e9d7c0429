#include "count/engine/launch/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { PAGE_BYTES = 4096, WORD_BYTES = 8 };

void remote_set_call(struct user_regs_struct *regs, long nr, const uint64_t args[6])
{
    regs->rax = (unsigned long long)nr;
    regs->orig_rax = (unsigned long long)-1; /* it is not in a call that is to be made again */
    regs->rdi = args[0];
    regs->rsi = args[1];
    regs->rdx = args[2];
    regs->r10 = args[3];
    regs->r8 = args[4];
    regs->r9 = args[5];
}

bool remote_poke(pid_t pid, uint64_t at, uint64_t word)
{
    return ptrace(PTRACE_POKEDATA, pid, (void *)at, (void *)word) == 0;
}

bool remote_write(pid_t pid, uint64_t at, const void *from, size_t bytes)
{
    struct iovec local = {(void *)from, bytes}, remote = {(void *)at, bytes};
    return process_vm_writev(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

bool remote_read(pid_t pid, uint64_t at, void *to, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)at, bytes};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static bool poke_text(pid_t pid, uint64_t at, const char *text)
{
    size_t n = strlen(text) + 1;
    for (size_t i = 0; i < n; i += WORD_BYTES) {
        uint64_t word = 0;
        memcpy(&word, text + i, n - i < WORD_BYTES ? n - i : WORD_BYTES);
        if (!remote_poke(pid, at + i, word))
            return false;
    }
    return true;
}

long remote_map(struct remote *v, uint64_t at, uint64_t bytes, int protection, int flags, long fd,
                uint64_t offset)
{
    return v->call(
        v, SYS_mmap,
        (uint64_t[6]){at, bytes, (uint64_t)protection, (uint64_t)flags, (uint64_t)fd, offset});
}

bool remote_failed(long result)
{
    return result < 0 && result > -PAGE_BYTES;
}

static int protection_of(const Elf64_Phdr *p)
{
    return (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) |
           (p->p_flags & PF_X ? PROT_EXEC : 0);
}

/* One segment: the file's part, then zeros to the end of its page, then zero pages. */
static bool map_segment(struct remote *v, const Elf64_Phdr *p, uint64_t base, long fd)
{
    uint64_t low = p->p_vaddr & ~(uint64_t)(PAGE_BYTES - 1);
    uint64_t file_end = p->p_vaddr + p->p_filesz, end = p->p_vaddr + p->p_memsz;
    uint64_t page_end = (file_end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    if (remote_failed(remote_map(v, base + low, file_end - low, protection_of(p),
                                 MAP_PRIVATE | MAP_FIXED, fd,
                                 p->p_offset & ~(uint64_t)(PAGE_BYTES - 1))))
        return false;
    if (end == file_end)
        return true;
    for (uint64_t at = file_end; at < page_end;) {
        uint64_t aligned = at & ~(uint64_t)(WORD_BYTES - 1);
        errno = 0;
        uint64_t word = (uint64_t)ptrace(PTRACE_PEEKDATA, v->pid, (void *)(base + aligned), NULL);
        word &= (1ull << 8 * (at - aligned)) - 1;
        if (errno || !remote_poke(v->pid, base + aligned, word))
            return false;
        at = aligned + WORD_BYTES;
    }
    return end <= page_end || !remote_failed(remote_map(
                                  v, base + page_end, end - page_end, protection_of(p),
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0));
}

const char *remote_map_image(struct remote *v, const struct image *image, uint64_t scratch,
                             uint64_t *ret_base)
{
    if (!poke_text(v->pid, scratch, image->path))
        return "its memory cannot be written";
    long fd = v->call(v, SYS_openat,
                      (uint64_t[6]){(uint64_t)AT_FDCWD, scratch, O_RDONLY | O_CLOEXEC, 0, 0, 0});
    if (remote_failed(fd))
        return "it cannot open the engine, as in a container that does not see its file";
    long base = remote_map(v, 0, image->span, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool mapped = !remote_failed(base);
    for (unsigned i = 0; i < image->header->e_phnum && mapped; i++)
        if (image->segment[i].p_type == PT_LOAD)
            mapped = map_segment(v, &image->segment[i], (uint64_t)base, fd);
    v->call(v, SYS_close, (uint64_t[6]){(uint64_t)fd});
    for (size_t i = 0; i < image->n_relocations && mapped; i++)
        mapped = remote_poke(v->pid, (uint64_t)base + image->relocation[i].r_offset,
                             (uint64_t)base + (uint64_t)image->relocation[i].r_addend);
    if (!mapped)
        return "the engine cannot be mapped into it";
    *ret_base = (uint64_t)base;
    return NULL;
}
