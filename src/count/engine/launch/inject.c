#include "count/engine/launch/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

enum {
    PAGE_BYTES = 4096,
    WORD_BYTES = 8,
    BELOW_STACK = 16384, /* where the path is put: unused so early */
    SYSCALL_STOP = SIGTRAP | 0x80,
};

/* syscall; int3 */
static const uint64_t syscall_code = 0xCC050F;

struct victim {
    pid_t pid;
    struct user_regs_struct regs; /* as the program is to find them */
    uint64_t code;                /* what its first word of code was */
};

static bool stopped_by(pid_t pid, int expected)
{
    int status;
    while (waitpid(pid, &status, __WALL) == pid) {
        if (!WIFSTOPPED(status))
            return false;
        if (status >> 8 == expected)
            return true;
        int signal = status >> 16 ? 0 : WSTOPSIG(status); /* events carry no signal */
        if (signal == (SIGTRAP | 0x80) || signal == SIGTRAP)
            signal = 0;
        if (ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)signal) < 0)
            return false;
    }
    return false;
}

static bool poke(pid_t pid, uint64_t at, uint64_t word)
{
    return ptrace(PTRACE_POKEDATA, pid, (void *)at, (void *)word) == 0;
}

static bool poke_text(pid_t pid, uint64_t at, const char *text)
{
    size_t n = strlen(text) + 1;
    for (size_t i = 0; i < n; i += WORD_BYTES) {
        uint64_t word = 0;
        memcpy(&word, text + i, n - i < WORD_BYTES ? n - i : WORD_BYTES);
        if (!poke(pid, at + i, word))
            return false;
    }
    return true;
}

/* Let the victim make a system call. @return its result, -EIO if that does not work. */
static long call(const struct victim *v, long nr, const uint64_t args[6])
{
    struct user_regs_struct regs = v->regs;
    regs.rax = (unsigned long long)nr;
    regs.orig_rax = (unsigned long long)-1;
    regs.rdi = args[0];
    regs.rsi = args[1];
    regs.rdx = args[2];
    regs.r10 = args[3];
    regs.r8 = args[4];
    regs.r9 = args[5];
    if (ptrace(PTRACE_SETREGS, v->pid, NULL, &regs) < 0 ||
        ptrace(PTRACE_CONT, v->pid, NULL, NULL) < 0 || !stopped_by(v->pid, SIGTRAP) ||
        ptrace(PTRACE_GETREGS, v->pid, NULL, &regs) < 0)
        return -EIO;
    return (long)regs.rax;
}

static long map(const struct victim *v, uint64_t at, uint64_t bytes, int protection, int flags,
                long fd, uint64_t offset)
{
    return call(
        v, SYS_mmap,
        (uint64_t[6]){at, bytes, (uint64_t)protection, (uint64_t)flags, (uint64_t)fd, offset});
}

static bool failed(long result)
{
    return result < 0 && result > -PAGE_BYTES;
}

static int protection_of(const Elf64_Phdr *p)
{
    return (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) |
           (p->p_flags & PF_X ? PROT_EXEC : 0);
}

/* One segment: the file's part, then zeros to the end of its page, then zero pages. */
static bool map_segment(const struct victim *v, const Elf64_Phdr *p, uint64_t base, long fd)
{
    uint64_t low = p->p_vaddr & ~(uint64_t)(PAGE_BYTES - 1);
    uint64_t file_end = p->p_vaddr + p->p_filesz, end = p->p_vaddr + p->p_memsz;
    uint64_t page_end = (file_end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    if (failed(map(v, base + low, file_end - low, protection_of(p), MAP_PRIVATE | MAP_FIXED, fd,
                   p->p_offset & ~(uint64_t)(PAGE_BYTES - 1))))
        return false;
    if (end == file_end)
        return true;
    for (uint64_t at = file_end; at < page_end;) {
        uint64_t aligned = at & ~(uint64_t)(WORD_BYTES - 1);
        errno = 0;
        uint64_t word = (uint64_t)ptrace(PTRACE_PEEKDATA, v->pid, (void *)(base + aligned), NULL);
        word &= (1ull << 8 * (at - aligned)) - 1;
        if (errno || !poke(v->pid, base + aligned, word))
            return false;
        at = aligned + WORD_BYTES;
    }
    return end <= page_end ||
           !failed(map(v, base + page_end, end - page_end, protection_of(p),
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0));
}

static const char *map_image(const struct victim *v, const struct image *image, uint64_t *ret_base)
{
    uint64_t path = (v->regs.rsp - BELOW_STACK) & ~(uint64_t)(WORD_BYTES - 1);
    if (!poke_text(v->pid, path, image->path))
        return "its memory cannot be written";
    long fd =
        call(v, SYS_openat, (uint64_t[6]){(uint64_t)AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0, 0, 0});
    if (failed(fd))
        return "it cannot open the engine";
    long base =
        map(v, 0, image->span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool mapped = !failed(base);
    for (unsigned i = 0; i < image->header->e_phnum && mapped; i++)
        if (image->segment[i].p_type == PT_LOAD)
            mapped = map_segment(v, &image->segment[i], (uint64_t)base, fd);
    call(v, SYS_close, (uint64_t[6]){(uint64_t)fd});
    for (size_t i = 0; i < image->n_relocations && mapped; i++)
        mapped = poke(v->pid, (uint64_t)base + image->relocation[i].r_offset,
                      (uint64_t)base + (uint64_t)image->relocation[i].r_addend);
    if (!mapped)
        return "the engine cannot be mapped into it";
    *ret_base = (uint64_t)base;
    return NULL;
}

/* The victim stands behind its exec. */
static const char *take(struct victim *v, const struct image *image)
{
    if (ptrace(PTRACE_GETREGS, v->pid, NULL, &v->regs) < 0)
        return "its registers cannot be read";
    v->regs.orig_rax = (unsigned long long)-1;
    uint64_t entry = v->regs.rip, base = 0;
    errno = 0;
    v->code = (uint64_t)ptrace(PTRACE_PEEKTEXT, v->pid, (void *)entry, NULL);
    if (errno || !poke(v->pid, entry, (v->code & ~0xFFFFFFull) | syscall_code))
        return "its code cannot be written";
    const char *error = map_image(v, image, &base);
    poke(v->pid, entry, v->code);
    if (!error) {
        v->regs.rax = entry;
        v->regs.rip = base + image->header->e_entry;
    }
    if (ptrace(PTRACE_SETREGS, v->pid, NULL, &v->regs) < 0)
        return "its registers cannot be set";
    return error;
}

const char *inject(pid_t pid, const struct image *image)
{
    struct victim v = {.pid = pid};
    if (!stopped_by(pid, SIGTRAP | PTRACE_EVENT_EXEC << 8))
        return NULL; /* the exec failed; its caller says so */
    const char *error = "it does not get out of exec";
    if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0 && stopped_by(pid, SYSCALL_STOP))
        error = take(&v, image);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return error;
}
