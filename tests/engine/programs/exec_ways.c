/* exec_ways FILE: executes FILE, a build of this program, in all the ways there are to name a file,
 * and a 32-bit program. Each child executes FLOP floating-point operations and tells what it finds.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FLOP = 1000, CHILD_STATUS = 7, CANNOT = 100 };

extern char **environ;

/* How a child gets at the file. */
struct way {
    const char *name;
    int dir;
    const char *path;
    int flags;
    int by_path; /* execve */
    int shares;  /* vfork */
};

static int child(char **argv)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *d; dir && (d = readdir(dir));)
        n += d->d_name[0] != '.';
    for (int i = 0; i < FLOP; i++)
        __asm__ volatile("mulsd %%xmm0, %%xmm0" ::: "xmm0");
    printf("  %s %s, %d descriptors, %s\n", argv[0], argv[1], n,
           getenv("ROOFLINE_ENGINE") || getenv("LD_PRELOAD") ? "variables" : "no variables");
    return CHILD_STATUS;
}

static int copy_of(const char *path, int to)
{
    static char buffer[1 << 16];
    int in = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    while ((n = read(in, buffer, sizeof(buffer))) > 0)
        if (write(to, buffer, (size_t)n) != n)
            return -1;
    close(in);
    return n == 0 ? to : -1;
}

/* exit(9) in 32-bit code, which says that it is for `machine`. */
static int program_32(unsigned char machine)
{
    unsigned char file[] = {
        0x7f, 'E',  'L',  'F', 1,    1,    1, 0, 0,    0,    0, 0, 0,    0, 0,    0,   2, 0, 3, 0,
        1,    0,    0,    0,   0x54, 0x80, 4, 8, 0x34, 0,    0, 0, 0,    0, 0,    0,   0, 0, 0, 0,
        0x34, 0,    0x20, 0,   1,    0,    0, 0, 0,    0,    0, 0, 1,    0, 0,    0,   0, 0, 0, 0,
        0,    0x80, 4,    8,   0,    0x80, 4, 8, 0x60, 0,    0, 0, 0x60, 0, 0,    0,   5, 0, 0, 0,
        0,    0x10, 0,    0,   0xb8, 1,    0, 0, 0,    0xbb, 9, 0, 0,    0, 0xcd, 0x80};
    enum { MACHINE_AT = 18 };
    int fd = memfd_create("small", MFD_CLOEXEC);
    file[MACHINE_AT] = machine;
    return write(fd, file, sizeof(file)) == (ssize_t)sizeof(file) ? fd : -1;
}

static void start(const struct way *way)
{
    char *argv[] = {"as it likes", "child", NULL};
    int status = 0;
    fflush(stdout);
    pid_t pid = way->shares ? vfork() : fork();
    if (pid == 0) {
        if (way->by_path)
            execve(way->path, argv, environ);
        else
            syscall(SYS_execveat, way->dir, way->path, argv, environ, way->flags);
        _exit(CANNOT + (errno == ENOENT) + 2 * (errno == ENOEXEC) + 3 * (errno == ELOOP));
    }
    waitpid(pid, &status, 0);
    printf("%s: %d\n", way->name, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/rl-exec-ways-XXXXXX", link[64], script[4200];
    if (argc > 1 && (!strcmp(argv[1], "child") || !strcmp(argv[1], "./unended")))
        return child(argv);
    if (argc < 2 || !mkdtemp(folder) || chdir(folder))
        return CANNOT;
    int dir = open(".", O_PATH | O_CLOEXEC), file = open(argv[1], O_PATH | O_CLOEXEC);
    int memory = copy_of(argv[1], memfd_create("copy", MFD_CLOEXEC)), small = program_32(EM_386);
    int strange = program_32(EM_68K);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", memory);
    int lines = open("script", O_WRONLY | O_CREAT, 0755),
        empty = open("none", O_RDWR | O_CREAT, 0755);
    int unended = open("unended", O_WRONLY | O_CREAT, 0755);
    int own = copy_of(argv[1], open("own", O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
    int n = snprintf(script, sizeof(script), "#!%s child\n", argv[1]);
    int plain = n - (int)sizeof(" child"); /* without arguments or end of line */
    if (small < 0 || strange < 0 || symlink(argv[1], "link") ||
        write(lines, script, (size_t)n) != n || close(lines) || close(empty) ||
        write(unended, script, (size_t)plain) != plain || close(unended) ||
        fchmod(own, S_ISUID | 0755) || close(own))
        return CANNOT;
    int script_fd = open("script", O_RDONLY), none = open("none", O_RDONLY | O_CLOEXEC);
    const struct way ways[] = {
        {"its path", AT_FDCWD, argv[1], 0, 0, 0},
        {"its path, by a child that shares memory", AT_FDCWD, argv[1], 0, 0, 1},
        {"a link in a folder", dir, "link", 0, 0, 0},
        {"a descriptor", file, "", AT_EMPTY_PATH, 0, 0},
        {"a file in memory", memory, "", AT_EMPTY_PATH, 0, 0},
        {"the same, by a child that shares memory", memory, "", AT_EMPTY_PATH, 0, 1},
        {"a link to a descriptor", AT_FDCWD, link, 0, 1, 0},
        {"a script", AT_FDCWD, "./script", 0, 1, 0},
        {"a script of one line without an end", AT_FDCWD, "./unended", 0, 1, 0},
        {"a setuid program of the same user", AT_FDCWD, "./own", 0, 1, 0},
        {"a script by descriptor", script_fd, "", AT_EMPTY_PATH, 0, 0},
        {"a program of 32 bits", small, "", AT_EMPTY_PATH, 0, 0},
        {"a program of 32 bits, by a child that shares memory", small, "", AT_EMPTY_PATH, 0, 1},
        {"a program for another machine", strange, "", AT_EMPTY_PATH, 0, 0},
        {"no file", AT_FDCWD, "nothing", 0, 0, 0},
        {"no program", none, "", AT_EMPTY_PATH, 0, 0},
        {"a link that is not to be followed", dir, "link", AT_SYMLINK_NOFOLLOW, 0, 0},
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        start(&ways[i]);
    unlink("script");
    unlink("unended");
    unlink("own");
    unlink("none");
    unlink("link");
    return rmdir(folder) ? CANNOT : 0;
}
