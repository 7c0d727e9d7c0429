#include "count/result_view_internal.h"

#include "base/error.h"
#include "count/result.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t record_sizes[RLE_N_SECTIONS] = {
    [RLE_SECTION_MODULES] = sizeof(struct rle_result_module),
    [RLE_SECTION_FRAGMENTS] = sizeof(struct rle_result_fragment),
    [RLE_SECTION_BLOCKS] = sizeof(struct rle_result_block),
    [RLE_SECTION_CODE] = 1,
    [RLE_SECTION_CORRECTIONS] = sizeof(struct rle_result_correction),
    [RLE_SECTION_THREADS] = sizeof(struct rle_result_thread),
    [RLE_SECTION_EXTENTS] = sizeof(struct rle_result_extent),
    [RLE_SECTION_UNCOUNTED] = sizeof(struct rle_result_uncounted),
    [RLE_SECTION_REGIONS] = sizeof(struct rle_result_region),
    [RLE_SECTION_STRINGS] = 1,
};

static enum rl_status check_section(const struct result_view *view, unsigned i, const char *name,
                                    struct rl_error *err)
{
    const struct rle_result_section *s = &view->header.sections[i];
    if (s->used && s->stride < record_sizes[i])
        return rl_fail(err, RL_EDATA, "%s: records of section %u are too short", name, i);
    if (s->used > s->capacity || s->offset > view->size ||
        (uint64_t)s->used * s->stride > view->size - s->offset)
        return rl_fail(err, RL_EDATA, "%s: section %u reaches beyond the end of the file", name, i);
    return RL_OK;
}

static enum rl_status no_result(const char *name, bool is_blank, struct rl_error *err)
{
    return rl_fail(err, RL_EDATA,
                   is_blank ? "%s: its process was killed before it was counted"
                            : "%s: not a result of the counting engine",
                   name);
}

/* Check a header against the size of what it is the header of. */
static enum rl_status view_open(const void *header, size_t size, const char *name,
                                struct result_view *ret_view, struct rl_error *err)
{
    struct result_view view = {.size = size};
    if (size < sizeof view.header || memcmp(header, RLE_RESULT_MAGIC, sizeof view.header.magic))
        return no_result(name, size >= sizeof view.header && !*(const char *)header, err);
    memcpy(&view.header, header, sizeof view.header);
    if (view.header.version != RLE_RESULT_VERSION || view.header.header_bytes < sizeof view.header)
        return rl_fail(err, RL_EDATA,
                       "%s: result of version %u, this program reads version %u; count again", name,
                       view.header.version, RLE_RESULT_VERSION);
    if (view.header.isa != RLE_ISA_X86_64)
        return rl_fail(err, RL_EDATA, "%s: counts of another instruction set (%u)", name,
                       view.header.isa);
    for (unsigned i = 0; i < RLE_N_SECTIONS; i++)
        RL_TRY(check_section(&view, i, name, err));
    view.header.message[sizeof view.header.message - 1] = '\0';
    *ret_view = view;
    return RL_OK;
}

enum rl_status result_view_open(const uint8_t *data, size_t size, const char *name,
                                struct result_view *ret_view, struct rl_error *err)
{
    RL_TRY(view_open(data, size, name, ret_view, err));
    ret_view->data = data;
    return RL_OK;
}

/* A file whose valid parts are copied one after the other. */
struct copy {
    int fd;
    const char *name;
    struct rle_result_header header; /* of the file; then of the copy */
    uint8_t *data;
    size_t used, size;
};

static enum rl_status read_at(const struct copy *c, void *to, size_t size, uint64_t offset,
                              struct rl_error *err)
{
    uint8_t *at = to;
    while (size) {
        ssize_t n = pread(c->fd, at, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return rl_fail_errno(err, "%s", c->name);
        if (!n)
            return rl_fail(err, RL_EDATA, "%s: the file became shorter", c->name);
        at += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return RL_OK;
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static uint64_t section_bytes(const struct copy *c, unsigned i)
{
    return (uint64_t)c->header.sections[i].used * c->header.sections[i].stride;
}

static uint64_t counter_bytes(const struct copy *c)
{
    return (uint64_t)c->header.n_counters * sizeof(uint64_t);
}

static enum rl_status append(struct copy *c, uint64_t *offset, uint64_t bytes, struct rl_error *err)
{
    if (aligned(bytes) > c->size - c->used)
        return rl_fail(err, RL_EDATA, "%s: sections overlap", c->name);
    RL_TRY(read_at(c, c->data + c->used, (size_t)bytes, *offset, err));
    *offset = c->used;
    c->used += (size_t)aligned(bytes);
    return RL_OK;
}

/* Counters that lie outside the file are left where they are said to be: outside the copy too. */
static enum rl_status append_counters(struct copy *c, uint64_t file_size, struct rl_error *err)
{
    const struct rle_result_section *s = &c->header.sections[RLE_SECTION_EXTENTS];
    uint64_t bytes = counter_bytes(c);
    for (size_t i = 0; i < s->used; i++) {
        struct rle_result_extent extent;
        uint8_t *at = c->data + s->offset + i * s->stride;
        memcpy(&extent, at, sizeof extent);
        if (extent.offset > file_size || bytes > file_size - extent.offset)
            extent.offset = UINT64_MAX;
        else
            RL_TRY(append(c, &extent.offset, bytes, err));
        memcpy(at, &extent, sizeof extent);
    }
    return RL_OK;
}

/* Room for all sections, and for as many counters as can be apart from each other in the file. */
static uint64_t size_of_copy(const struct copy *c, uint64_t file_size)
{
    uint64_t size = aligned(sizeof c->header);
    uint64_t counters = c->header.sections[RLE_SECTION_EXTENTS].used * aligned(counter_bytes(c));
    for (unsigned i = 0; i < RLE_N_SECTIONS; i++)
        size += aligned(section_bytes(c, i));
    return size + (counters < file_size ? counters : file_size);
}

static enum rl_status copy_file(struct copy *c, uint64_t file_size, struct rl_error *err)
{
    struct result_view view;
    if (file_size < sizeof c->header)
        return no_result(c->name, false, err);
    RL_TRY(read_at(c, &c->header, sizeof c->header, 0, err));
    RL_TRY(view_open(&c->header, (size_t)file_size, c->name, &view, err));
    c->size = (size_t)size_of_copy(c, file_size);
    c->data = mmap(NULL, c->size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (c->data == MAP_FAILED) {
        c->data = NULL;
        return rl_fail(err, RL_ENOMEM, "%s: no memory for counts", c->name);
    }
    c->used = (size_t)aligned(sizeof c->header);
    for (unsigned i = 0; i < RLE_N_SECTIONS; i++)
        RL_TRY(append(c, &c->header.sections[i].offset, section_bytes(c, i), err));
    RL_TRY(append_counters(c, file_size, err));
    c->header.header_bytes = sizeof c->header;
    memcpy(c->data, &c->header, sizeof c->header);
    return RL_OK;
}

bool rl_result_is_blank(const char *path)
{
    static const char zero[sizeof((struct rle_result_header *)NULL)->magic];
    char magic[sizeof zero];
    struct stat info;
    struct copy c = {.name = path, .fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (c.fd < 0)
        return false;
    bool is_blank = !fstat(c.fd, &info) && S_ISREG(info.st_mode) &&
                    (!info.st_size || (info.st_size >= (off_t)sizeof c.header &&
                                       !read_at(&c, magic, sizeof magic, 0, NULL) &&
                                       !memcmp(magic, zero, sizeof zero)));
    close(c.fd);
    return is_blank;
}

enum rl_status result_load(const char *path, uint8_t **ret_data, size_t *ret_size,
                           struct rl_error *err)
{
    struct stat info;
    struct copy c = {.name = path, .fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (c.fd < 0)
        return rl_fail_errno(err, "%s", path);
    enum rl_status status = RL_OK;
    if (fstat(c.fd, &info))
        status = rl_fail_errno(err, "%s", path);
    else if (!S_ISREG(info.st_mode) || info.st_size <= 0)
        status = no_result(path, S_ISREG(info.st_mode), err);
    else
        status = copy_file(&c, (uint64_t)info.st_size, err);
    close(c.fd);
    if (status && c.data)
        munmap(c.data, c.size);
    if (!status) {
        *ret_data = c.data;
        *ret_size = c.size;
    }
    return status;
}

size_t result_view_used(const struct result_view *view, enum rle_section_id section)
{
    return view->header.sections[section].used;
}

bool result_view_record(const struct result_view *view, enum rle_section_id section, size_t i,
                        void *ret, size_t size)
{
    const struct rle_result_section *s = &view->header.sections[section];
    if (i >= s->used)
        return false;
    memcpy(ret, view->data + s->offset + i * s->stride, size);
    return true;
}

const char *result_view_string(const struct result_view *view, uint32_t offset)
{
    const struct rle_result_section *s = &view->header.sections[RLE_SECTION_STRINGS];
    const char *strings = (const char *)view->data + s->offset;
    if (offset >= s->used || !memchr(strings + offset, '\0', s->used - offset))
        return "";
    return strings + offset;
}

const uint8_t *result_view_code(const struct result_view *view, uint32_t offset, size_t size)
{
    const struct rle_result_section *s = &view->header.sections[RLE_SECTION_CODE];
    if (offset > s->used || size > s->used - offset)
        return NULL;
    return view->data + s->offset + offset;
}

const uint8_t *result_view_counters(const struct result_view *view,
                                    const struct rle_result_extent *extent)
{
    uint64_t bytes = (uint64_t)view->header.n_counters * sizeof(uint64_t);
    if (extent->offset > view->size || bytes > view->size - extent->offset)
        return NULL;
    return view->data + extent->offset;
}
