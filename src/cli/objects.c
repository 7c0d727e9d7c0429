#include "cli/objects.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seen from the program's own folder, unless they begin with a slash. */
static const char *const folders[] = {
    RL_LIBDIR_FROM_BINDIR "/roofline",
#ifdef RL_LIBDIR
    RL_LIBDIR "/roofline",
#endif
    "../lib/roofline",
    "src/sample",
    "src/count/engine",
};

char *rl_object_path(const char *name)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return NULL;
    self[n] = 0;
    char *slash = strrchr(self, '/');
    if (!slash)
        return NULL;
    *slash = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[PATH_MAX + 128];
        bool is_full = folders[i][0] == '/';
        snprintf(path, sizeof path, "%s/%s/%s", is_full ? "" : self, folders[i], name);
        char *real = access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
        if (real)
            return real;
    }
    return NULL;
}
