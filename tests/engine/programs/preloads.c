/* Programs executed with an LD_PRELOAD of their own: none, an empty one, two of which the last
 * counts. The engine's own variable is beside it, and nothing of that is to be seen. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

extern char **environ;

enum { STATUS = 3, PATH_BYTES = 4096 };

static char *none[] = {"A=1", NULL}, *empty[] = {"LD_PRELOAD=", "A=1", NULL},
            *one[] = {"LD_PRELOAD=libm.so.6", NULL},
            *two[] = {"LD_PRELOAD=/nonexistent.so", "LD_PRELOAD=libm.so.6", "A", NULL},
            *last_empty[] = {"LD_PRELOAD=libm.so.6", "LD_PRELOAD=", "A", NULL};

static int be_executed(const char *name)
{
    int own = 0;
    for (char **e = environ; *e; e++)
        own += strstr(*e, "engine") != NULL || strstr(*e, "ROOFLINE_ENGINE") != NULL;
    printf("%s: %d\n", name, own);
    return STATUS;
}

int main(int argc, char **argv)
{
    static char path[PATH_BYTES];
    char **const environments[] = {none, empty, one, two, last_empty};
    if (argc > 1)
        return be_executed(argv[1]);
    if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
        return 1;
    for (unsigned i = 0; i < sizeof(environments) / sizeof(*environments); i++) {
        char name[] = {(char)('0' + i), '\0'};
        char *arguments[] = {"itself", name, NULL};
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            execve(path, arguments, environments[i]);
            _exit(1);
        }
        waitpid(child, &status, 0);
        printf("%u: %x\n", i, (unsigned)status);
    }
    loop_fmul_like(STATUS);
    expect_mnemonic("pmaddwd", STATUS);
    return 0;
}
