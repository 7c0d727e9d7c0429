#include "base/file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_CHUNK = 1 << 16 };

static enum rl_status read_stream(FILE *in, const char *path, size_t max_bytes, char **ret_text,
                                  size_t *ret_size, struct rl_error *err)
{
    char *text = NULL;
    size_t size = 0;
    size_t capacity = 0;
    for (;;) {
        if (size + READ_CHUNK + 1 > capacity) {
            capacity = 2 * capacity + READ_CHUNK + 1;
            char *grown = realloc(text, capacity);
            if (!grown) {
                free(text);
                return rl_fail(err, RL_ENOMEM, "%s: no memory to read it", path);
            }
            text = grown;
        }
        size_t n = fread(text + size, 1, READ_CHUNK, in);
        size += n;
        if (size > max_bytes) {
            free(text);
            return rl_fail(err, RL_EDATA, "%s: larger than the %zu MiB accepted here", path,
                           max_bytes >> 20);
        }
        if (n == 0)
            break;
    }
    if (ferror(in)) {
        free(text);
        return rl_fail_errno(err, "%s: cannot read", path);
    }
    text[size] = '\0';
    *ret_text = text;
    if (ret_size)
        *ret_size = size;
    return RL_OK;
}

enum rl_status rl_file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_size,
                            struct rl_error *err)
{
    if (strcmp(path, "-") == 0)
        return read_stream(stdin, "standard input", max_bytes, ret_text, ret_size, err);
    FILE *in = fopen(path, "rbe");
    if (!in)
        return rl_fail_errno(err, "%s: cannot open", path);
    enum rl_status status = read_stream(in, path, max_bytes, ret_text, ret_size, err);
    fclose(in);
    return status;
}

/* True if `path` exists and is no regular file: it cannot be replaced by rename. */
static int is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static enum rl_status open_special(struct rl_output *out, const char *path, struct rl_error *err)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return rl_fail(err, RL_ESYS, "%s: is a folder; name a file", path);
    out->stream = fopen(path, "we");
    if (!out->stream)
        return rl_fail_errno(err, "%s: cannot open for writing", path);
    return RL_OK;
}

static enum rl_status open_temporary(struct rl_output *out, const char *path, struct rl_error *err)
{
    if (asprintf(&out->temporary, "%s.XXXXXX", path) < 0) {
        out->temporary = NULL;
        return rl_fail(err, RL_ENOMEM, "no memory for a file name");
    }
    int fd = mkostemp(out->temporary, O_CLOEXEC);
    if (fd < 0) {
        rl_fail_errno(err, "%s: cannot create a file there", path);
        free(out->temporary);
        out->temporary = NULL;
        return RL_ESYS;
    }
    struct stat old;
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, stat(path, &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask);
    out->stream = fdopen(fd, "w");
    if (!out->stream) {
        close(fd);
        return rl_fail(err, RL_ENOMEM, "%s: no memory for a stream", path);
    }
    return RL_OK;
}

/* A link stays, /dev/stdout among them: the file it points to is replaced. */
static char *target_of(const char *path)
{
    struct stat st;
    bool is_link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    char *target = is_link ? realpath(path, NULL) : NULL;
    return target ? target : strdup(path);
}

enum rl_status rl_output_open(struct rl_output *out, const char *path, struct rl_error *err)
{
    *out = (struct rl_output){0};
    if (!path || strcmp(path, "-") == 0) {
        out->stream = stdout;
        return RL_OK;
    }
    if (!*path)
        return rl_fail(err, RL_EINVAL, "the name of the file to write is empty");
    out->path = target_of(path);
    if (!out->path)
        return rl_fail(err, RL_ENOMEM, "no memory for a file name");
    enum rl_status status =
        is_special(path) ? open_special(out, path, err) : open_temporary(out, out->path, err);
    if (status != RL_OK)
        rl_output_abort(out);
    return status;
}

enum rl_status rl_output_commit(struct rl_output *out, struct rl_error *err)
{
    const char *name = out->path ? out->path : "standard output";
    enum rl_status status = RL_OK;
    if (fflush(out->stream) != 0 || ferror(out->stream))
        status = rl_fail_errno(err, "%s: cannot write", name);
    if (out->stream != stdout) {
        if (fclose(out->stream) != 0 && status == RL_OK)
            status = rl_fail_errno(err, "%s: cannot write", name);
        out->stream = NULL;
    }
    if (status == RL_OK && out->temporary && rename(out->temporary, out->path) != 0)
        status = rl_fail_errno(err, "%s: cannot replace the file", name);
    if (status == RL_OK) {
        free(out->temporary);
        out->temporary = NULL;
    }
    out->stream = out->stream == stdout ? NULL : out->stream;
    rl_output_abort(out);
    return status;
}

void rl_output_abort(struct rl_output *out)
{
    if (out->stream && out->stream != stdout)
        fclose(out->stream);
    if (out->temporary)
        unlink(out->temporary);
    free(out->temporary);
    free(out->path);
    *out = (struct rl_output){0};
}

enum rl_status rl_file_write(const char *path, const void *data, size_t size, struct rl_error *err)
{
    struct rl_output out;
    RL_TRY(rl_output_open(&out, path, err));
    errno = 0;
    if (size && fwrite(data, 1, size, out.stream) != size) {
        rl_fail_errno(err, "%s: cannot write", path ? path : "standard output");
        rl_output_abort(&out);
        return RL_ESYS;
    }
    return rl_output_commit(&out, err);
}

const char *rl_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

enum rl_status rl_mkdirs(const char *path, struct rl_error *err)
{
    char *copy = strdup(path);
    if (!copy)
        return rl_fail(err, RL_ENOMEM, "no memory for a file name");
    enum rl_status status = RL_OK;
    for (char *p = copy + 1; status == RL_OK; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            status = rl_fail_errno(err, "%s: cannot create the folder", copy);
        *p = end;
        if (end == '\0')
            break;
    }
    free(copy);
    return status;
}
