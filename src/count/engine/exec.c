#include "count/engine/exec.h"

#include <errno.h>
#include <unistd.h>

#include "count/engine/engine.h"

enum {
    ARGUMENTS_MAX = 1 << 20,
    OWN_ARGUMENTS = 4, /* launcher, engine, options, file */
    PATH_BYTES = 4096,
    TEXT_BYTES = RLE_OUTPUT_MAX + RLE_OPTIONS_TEXT_MAX,
};

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

/* How the launcher is told of a file that is open: see its main.c. */
static const char *descriptor_name(long fd, char *buffer)
{
    struct rle_text text = {buffer, PATH_BYTES, 0};
    rle_text_add(&text, RLE_LAUNCHER_DESCRIPTOR);
    rle_text_add_number(&text, (uint64_t)fd);
    return buffer;
}

long rle_launch_for_exec(const struct rle_exec *exec, bool by_descriptor, struct rle_launch *ret)
{
    uint64_t n;
    long error = count_arguments(exec->argv, &n);
    if (error)
        return error;
    size_t table = (OWN_ARGUMENTS + n + 2) * sizeof(char *);
    size_t bytes = table + 2 * (size_t)TEXT_BYTES + PATH_BYTES;
    long fd = by_descriptor ? rle_exec_descriptor(exec) : RLE_NO_DESCRIPTOR;
    if (by_descriptor && rle_is_error(fd))
        return RLE_LAUNCH_CANNOT;
    *ret = (struct rle_launch){.memory = rle_map(bytes), .bytes = bytes, .fd = fd};
    if (!ret->memory) {
        rle_launch_release(ret);
        return -ENOMEM;
    }
    const char **list = (const char **)ret->memory;
    struct rle_text path = {(char *)ret->memory + table, TEXT_BYTES, 0};
    launcher_path(&path);
    char *options = path.to + TEXT_BYTES;
    rle_options_format(&rle_engine.options, options, TEXT_BYTES);
    list[0] = path.to;
    list[1] = rle_engine.object_path;
    list[2] = options;
    list[3] = by_descriptor ? descriptor_name(fd, options + TEXT_BYTES)
                            : real_path(exec->path, options + TEXT_BYTES);
    for (uint64_t i = 0; i < n; i++)
        list[OWN_ARGUMENTS + i] = exec->argv[i];
    if (n == 0)
        list[OWN_ARGUMENTS] = "";
    ret->path = path.to;
    ret->argv = list;
    return 0;
}

void rle_launch_release(struct rle_launch *launch)
{
    if (launch->memory)
        rle_sys3(SYS_munmap, (long)launch->memory, (long)launch->bytes, 0);
    if (launch->fd != RLE_NO_DESCRIPTOR)
        rle_sys3(SYS_close, launch->fd, 0, 0);
}
