#include "count/engine/exec.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "count/engine/engine.h"

enum {
    HEAD_BYTES = 4096,
    ARGUMENTS_MAX = 1 << 20,
    OWN_ARGUMENTS = 4, /* launcher, engine, options, file */
    PATH_BYTES = 4096,
    TEXT_BYTES = RLE_OUTPUT_MAX + RLE_OPTIONS_TEXT_MAX,
};

/* The loader that honours LD_PRELOAD and passes arguments to constructors. */
static bool is_known_loader(const char *name, uint64_t bytes)
{
    static const char known[] = "ld-linux-x86-64.so.2";
    uint64_t n = sizeof(known); /* its terminator too */
    return bytes >= n && rle_equal(name + bytes - n, known);
}

static bool head_needs_launcher(const char *head, uint64_t n)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)head;
    if (n > 2 && head[0] == '#' && head[1] == '!')
        return rle_engine.options.launch; /* a script, whose interpreter it is about */
    if (n < sizeof(*elf) || elf->e_ident[EI_MAG0] != ELFMAG0 || elf->e_ident[EI_MAG1] != ELFMAG1 ||
        elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != EM_X86_64 ||
        elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff > n ||
        elf->e_phnum * sizeof(Elf64_Phdr) > n - elf->e_phoff)
        return false; /* what the kernel will refuse, or a strange one */
    const Elf64_Phdr *segment = (const Elf64_Phdr *)(head + elf->e_phoff);
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        if (segment[i].p_type != PT_INTERP)
            continue;
        if (segment[i].p_offset > n || segment[i].p_filesz > n - segment[i].p_offset ||
            segment[i].p_filesz == 0 || head[segment[i].p_offset + segment[i].p_filesz - 1] != '\0')
            return false;
        return rle_engine.options.launch ||
               !is_known_loader(head + segment[i].p_offset, segment[i].p_filesz);
    }
    return true;
}

bool rle_needs_launcher(const char *path)
{
    char head[HEAD_BYTES];
    struct stat status;
    long fd = rle_sys4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (rle_is_error(fd))
        return false;
    /* What the kernel refuses the program would be refused to the launcher when it is too late. */
    bool is_allowed = rle_sys3(SYS_faccessat, AT_FDCWD, (long)path, X_OK) == 0;
    long n = -EINVAL;
    if (!rle_sys3(SYS_fstat, fd, (long)&status, 0) && S_ISREG(status.st_mode) &&
        !(status.st_mode & (S_ISUID | S_ISGID)))
        n = rle_sys3(SYS_read, fd, (long)head, sizeof(head));
    rle_sys3(SYS_close, fd, 0, 0);
    return is_allowed && n > 0 && head_needs_launcher(head, (uint64_t)n);
}

static long count_arguments(const char *const *argv, uint64_t *ret_n)
{
    *ret_n = 0;
    for (uint64_t n = 0; argv && n < ARGUMENTS_MAX; n++) {
        const char *argument;
        if (rle_copy_guarded(&argument, argv + n, sizeof(argument)))
            return -EFAULT;
        *ret_n = n;
        if (!argument)
            return 0;
    }
    return argv ? -E2BIG : 0;
}

/* The launcher's path: in the engine's directory. */
static void launcher_path(struct rle_text *text)
{
    size_t length = rle_length(rle_engine.object_path);
    while (length > 0 && rle_engine.object_path[length - 1] != '/')
        length--;
    rle_text_add(text, rle_engine.object_path);
    text->length = length;
    rle_text_add(text, RLE_LAUNCHER);
}

/* To the launcher, the program's own file would be another one, and it looks for a name without a
 * slash as a shell does. */
static const char *real_path(const char *path, char *buffer)
{
    static const char own[] = "/proc/self/exe", here[] = "./";
    enum { HERE_BYTES = sizeof(here) - 1 };
    char *name = buffer + HERE_BYTES;
    bool has_slash = false;
    for (size_t i = 0; i < PATH_BYTES - HERE_BYTES; i++) {
        if (rle_copy_guarded(name + i, path + i, 1))
            return path;
        has_slash = has_slash || name[i] == '/';
        if (!name[i])
            break;
    }
    if (!has_slash) {
        rle_copy(buffer, here, HERE_BYTES);
        return buffer;
    }
    if (!rle_equal(name, own))
        return path;
    long n = rle_sys3(SYS_readlink, (long)own, (long)buffer, PATH_BYTES - 1);
    if (n <= 0)
        return path;
    buffer[n] = '\0';
    return buffer;
}

long rle_launch_for_exec(long *args, struct rle_launch *ret)
{
    const char *const *argv = (const char *const *)args[1];
    uint64_t n;
    long error = count_arguments(argv, &n);
    if (error)
        return error;
    size_t table = (OWN_ARGUMENTS + n + 2) * sizeof(char *);
    size_t bytes = table + 2 * (size_t)TEXT_BYTES + PATH_BYTES;
    char *memory = rle_map(bytes);
    if (!memory)
        return -ENOMEM;
    *ret = (struct rle_launch){memory, bytes};
    const char **list = (const char **)memory;
    struct rle_text path = {memory + table, TEXT_BYTES, 0};
    launcher_path(&path);
    char *options = memory + table + TEXT_BYTES;
    rle_options_format(&rle_engine.options, options, TEXT_BYTES);
    list[0] = path.to;
    list[1] = rle_engine.object_path;
    list[2] = options;
    list[3] = real_path((const char *)args[0], options + TEXT_BYTES);
    for (uint64_t i = 0; i < n; i++)
        list[OWN_ARGUMENTS + i] = argv[i];
    if (n == 0)
        list[OWN_ARGUMENTS] = "";
    args[0] = (long)path.to;
    args[1] = (long)list;
    return 0;
}

void rle_launch_release(struct rle_launch *launch)
{
    if (launch->memory)
        rle_sys3(SYS_munmap, (long)launch->memory, (long)launch->bytes, 0);
}
