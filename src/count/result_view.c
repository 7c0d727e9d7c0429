#include "count/result_view_internal.h"

#include "base/error.h"

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

enum rl_status result_view_open(const uint8_t *data, size_t size, const char *name,
                                struct result_view *ret_view, struct rl_error *err)
{
    struct result_view view = {.data = data, .size = size};
    if (size < sizeof view.header || memcmp(data, RLE_RESULT_MAGIC, sizeof view.header.magic))
        return rl_fail(err, RL_EDATA, "%s: not a result of the counting engine", name);
    memcpy(&view.header, data, sizeof view.header);
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

enum rl_status result_map(const char *path, const uint8_t **ret_data, size_t *ret_size,
                          struct rl_error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return rl_fail_errno(err, "%s", path);
    enum rl_status status = RL_OK;
    void *data = MAP_FAILED;
    if (fstat(fd, &info))
        status = rl_fail_errno(err, "%s", path);
    else if (!S_ISREG(info.st_mode) || info.st_size <= 0)
        status = rl_fail(err, RL_EDATA, "%s: not a result of the counting engine", path);
    else if ((data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
        status = rl_fail_errno(err, "%s", path);
    close(fd);
    if (!status) {
        *ret_data = data;
        *ret_size = (size_t)info.st_size;
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
