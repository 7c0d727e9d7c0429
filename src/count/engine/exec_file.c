#include "count/engine/exec_file.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "count/engine/engine.h"

enum {
    HEAD_BYTES = 4096,
    NAME_BYTES = 256, /* of an interpreter, as the kernel reads them */
    LINK_BYTES = 48,
    NESTED_MAX = 5, /* scripts interpreted by scripts, as the kernel allows them */
    HIGH_DESCRIPTOR = 100,
    NO_SETUID_MOUNT = 2, /* ST_NOSUID */
};

enum kind {
    LOADED,  /* by the dynamic loader that honours LD_PRELOAD and passes arguments to constructors;
                also what the kernel will refuse, or a strange one */
    BARE,    /* no loader, or another one */
    FOREIGN, /* 32-bit, or of another machine */
};

/* A file as openat(2) takes it. */
struct file {
    long dirfd;
    const char *path;
    char link[LINK_BYTES];
};

static void name_descriptor(struct file *file, long fd)
{
    struct rle_text text = {file->link, sizeof(file->link), 0};
    rle_text_add(&text, "/proc/self/fd/");
    rle_text_add_number(&text, (uint64_t)(fd & INT32_MAX));
    file->dirfd = AT_FDCWD;
    file->path = file->link;
}

static void name_file(const struct rle_exec *exec, struct file *file)
{
    char first = '\0';
    bool known = rle_copy_guarded(&first, exec->path, 1) == 0;
    file->dirfd = exec->dirfd;
    file->path = exec->path;
    if (known && !first && exec->flags & AT_EMPTY_PATH)
        name_descriptor(file, exec->dirfd);
}

static long open_file(const struct rle_exec *exec, const struct file *file)
{
    int links = exec->flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0;
    return rle_sys4(SYS_openat, file->dirfd, (long)file->path,
                    O_RDONLY | O_CLOEXEC | O_NONBLOCK | links, 0);
}

/* The program's path means the same to the launcher: /proc/self and closed descriptors do not. */
static bool is_plain(const struct rle_exec *exec)
{
    static const char proc[] = "/proc/", fd[] = "/dev/fd/";
    char head[sizeof(fd)] = "";
    for (unsigned i = 0; i + 1 < sizeof(head); i++)
        if (rle_copy_guarded(head + i, exec->path + i, 1) || !head[i])
            break;
    if (!head[0] || exec->flags || (head[0] != '/' && exec->dirfd != AT_FDCWD))
        return false;
    if (rle_equal(head, fd))
        return false;
    head[sizeof(proc) - 1] = '\0';
    return !rle_equal(head, proc);
}

static uint64_t read_at(long fd, void *to, uint64_t bytes, uint64_t offset)
{
    long n = rle_sys4(SYS_pread64, fd, (long)to, (long)bytes, (long)offset);
    return n > 0 ? (uint64_t)n : 0;
}

static enum kind kind_by_loader(long fd, const Elf64_Phdr *segment)
{
    static const char known[] = "ld-linux-x86-64.so.2";
    char name[NAME_BYTES];
    uint64_t n = segment->p_filesz, own = sizeof(known); /* its terminator too */
    if (n == 0 || n > sizeof(name) || read_at(fd, name, n, segment->p_offset) != n || name[n - 1])
        return LOADED;
    return n >= own && rle_equal(name + n - own, known) ? LOADED : BARE;
}

static enum kind kind_of_elf(long fd, const char *head, uint64_t n)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)head;
    if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != EM_X86_64)
        return FOREIGN;
    if (elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff > n ||
        elf->e_phnum * sizeof(Elf64_Phdr) > n - elf->e_phoff)
        return LOADED;
    const Elf64_Phdr *segment = (const Elf64_Phdr *)(head + elf->e_phoff);
    for (unsigned i = 0; i < elf->e_phnum; i++)
        if (segment[i].p_type == PT_INTERP)
            return kind_by_loader(fd, &segment[i]);
    return BARE;
}

/* The interpreter that the first line of a script names, in place of that line. Behind the n bytes
 * read there is one more; the last line of a file need not be ended. */
static const char *interpreter(char *head, uint64_t n)
{
    uint64_t begin = sizeof("#!") - 1, end;
    while (begin < n && (head[begin] == ' ' || head[begin] == '\t'))
        begin++;
    for (end = begin; end < n && head[end] && head[end] != '\n'; end++)
        if (head[end] == ' ' || head[end] == '\t')
            break;
    if (end == HEAD_BYTES - 1)
        return "";
    head[end] = '\0';
    return head + begin;
}

/* `fd` is closed. */
static enum kind kind_of(long fd, bool *ret_script)
{
    char head[HEAD_BYTES];
    *ret_script = false;
    for (unsigned depth = 0; depth <= NESTED_MAX && !rle_is_error(fd); depth++) {
        uint64_t n = read_at(fd, head, sizeof(head) - 1, 0);
        bool is_script = n > 2 && head[0] == '#' && head[1] == '!';
        enum kind kind = LOADED;
        if (n >= sizeof(Elf64_Ehdr) && head[EI_MAG0] == ELFMAG0 && head[EI_MAG1] == ELFMAG1 &&
            head[EI_MAG2] == ELFMAG2 && head[EI_MAG3] == ELFMAG3)
            kind = kind_of_elf(fd, head, n);
        rle_sys3(SYS_close, fd, 0, 0);
        if (!is_script)
            return kind;
        *ret_script = true;
        fd = rle_sys4(SYS_openat, AT_FDCWD, (long)interpreter(head, n),
                      O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    }
    if (!rle_is_error(fd))
        rle_sys3(SYS_close, fd, 0, 0);
    return LOADED;
}

/* Will the kernel run it as another user? */
static bool changes_user(long fd, const struct stat *status)
{
    struct statfs fs;
    bool user = status->st_mode & S_ISUID && status->st_uid != rle_sys3(SYS_geteuid, 0, 0, 0);
    bool group = status->st_mode & S_ISGID && status->st_mode & S_IXGRP &&
                 status->st_gid != rle_sys3(SYS_getegid, 0, 0, 0);
    return (user || group) && rle_sys4(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0) != 1 &&
           !(rle_sys3(SYS_fstatfs, fd, (long)&fs, 0) == 0 && fs.f_flags & NO_SETUID_MOUNT);
}

/* What the kernel refuses the program would be refused to the launcher when it is too late. */
static bool is_executable(const struct file *file, long fd, struct stat *ret_status)
{
    return rle_sys3(SYS_faccessat, file->dirfd, (long)file->path, X_OK) == 0 &&
           rle_sys3(SYS_fstat, fd, (long)ret_status, 0) == 0 && S_ISREG(ret_status->st_mode);
}

enum rle_exec_way rle_exec_way(const struct rle_exec *exec, const char **ret_why)
{
    struct file file;
    struct stat status;
    bool is_script = false;
    name_file(exec, &file);
    long fd = open_file(exec, &file);
    if (rle_is_error(fd))
        return RLE_EXEC_PRELOADED;
    if (!is_executable(&file, fd, &status)) {
        rle_sys3(SYS_close, fd, 0, 0);
        return RLE_EXEC_PRELOADED;
    }
    bool is_other_user = changes_user(fd, &status);
    enum kind kind = kind_of(fd, &is_script);
    if (kind == FOREIGN)
        *ret_why = "a program was started that is 32-bit, or for another processor";
    else if (!is_script && is_other_user)
        *ret_why = "a program was started that changes the user (setuid)";
    else if (kind == LOADED)
        return rle_engine.options.launch && is_plain(exec) ? RLE_EXEC_LAUNCHED : RLE_EXEC_PRELOADED;
    else if (is_plain(exec))
        return RLE_EXEC_LAUNCHED;
    else if (!is_script)
        return RLE_EXEC_BY_DESCRIPTOR;
    else
        *ret_why = "a script was started by descriptor whose interpreter is statically linked";
    return RLE_EXEC_UNREACHED;
}

long rle_exec_descriptor(const struct rle_exec *exec)
{
    struct file file, link;
    name_file(exec, &file);
    long fd = open_file(exec, &file);
    if (rle_is_error(fd))
        return fd;
    long kept = rle_sys3(SYS_fcntl, fd, F_DUPFD, HIGH_DESCRIPTOR);
    if (rle_is_error(kept)) /* limited to fewer */
        kept = rle_sys3(SYS_fcntl, fd, F_DUPFD, 0);
    rle_sys3(SYS_close, fd, 0, 0);
    if (rle_is_error(kept))
        return kept;
    name_descriptor(&link, kept);
    long error = rle_sys3(SYS_faccessat, link.dirfd, (long)link.path, X_OK);
    if (error)
        rle_sys3(SYS_close, kept, 0, 0);
    return error ? error : kept;
}
