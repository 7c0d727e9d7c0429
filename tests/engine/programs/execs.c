/* Programs that are started where it matters how the engine gets into them: by a name without a
 * slash, without permission, and where nothing else is to be seen. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

enum { CHILD_STATUS = 7, CANNOT = 100 };

/* Also the name of a program in PATH. */
static const char name[] = "true";

static void copy_self(const char *to, mode_t mode)
{
    static char buffer[1 << 16];
    int in = open("/proc/self/exe", O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, mode);
    for (ssize_t n; (n = read(in, buffer, sizeof(buffer))) > 0;)
        if (write(out, buffer, (size_t)n) != n)
            exit(CANNOT);
    close(in);
    close(out);
}

static void start(const char *what, const char *file, int confined)
{
    int status = 0;
    char *argv[] = {(char *)name, "child", NULL};
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int error = confined && chroot(".") != 0 ? errno : 0;
        if (!error && execv(file, argv))
            error = errno;
        printf("%s\n", strerror(error));
        exit(CANNOT);
    }
    waitpid(child, &status, 0);
    printf("%s: %d\n", what, status >> 8);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/rl-execs-XXXXXX";
    if (argc > 1) {
        printf("%s %s\n", argv[0], argv[1]);
        return CHILD_STATUS;
    }
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return CANNOT;
    copy_self(name, 0755);
    copy_self("closed", 0644);
    start("without a slash", name, 0);
    start("without permission", "./closed", 0);
    start("confined", "/true", 1);
    unlink(name);
    unlink("closed");
    rmdir(folder);
    return 0;
}
