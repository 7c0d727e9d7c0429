#include "profile/tally_images.h"

#include "base/array.h"
#include "base/elf.h"
#include "base/error.h"
#include "base/file.h"
#include "profile/sums.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum rl_status no_memory(struct rl_error *err)
{
    return rl_fail(err, RL_ENOMEM, "out of memory for programs");
}

/* --- which file is the program --- */

/* Position-independent programs look like libraries but for one flag. */
static bool says_it_is_program(int fd, const Elf64_Phdr *dynamic)
{
    enum { MOST_ENTRIES = 1024 };
    for (uint64_t i = 0; i < MOST_ENTRIES && (i + 1) * sizeof(Elf64_Dyn) <= dynamic->p_filesz;
         i++) {
        Elf64_Dyn entry;
        if (!rl_elf_read(fd, &entry, sizeof entry, dynamic->p_offset + i * sizeof entry) ||
            entry.d_tag == DT_NULL)
            return false;
        if (entry.d_tag == DT_FLAGS_1)
            return entry.d_un.d_val & DF_1_PIE;
    }
    return false;
}

static bool is_program(int fd)
{
    Elf64_Ehdr head;
    if (!rl_elf_head(fd, &head))
        return false;
    for (unsigned i = 0; head.e_type == ET_DYN && i < head.e_phnum; i++) {
        Elf64_Phdr segment;
        if (!rl_elf_segment(fd, &head, i, &segment))
            return false;
        if (segment.p_type == PT_DYNAMIC)
            return says_it_is_program(fd, &segment);
    }
    return head.e_type == ET_EXEC;
}

static bool is_program_file(const char *path)
{
    int fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    bool is_it = fd >= 0 && is_program(fd);
    if (fd >= 0)
        close(fd);
    return is_it;
}

/* Without what the kernel adds where the file was replaced since. */
static size_t path_length(const char *path)
{
    static const char removed[] = " (deleted)";
    size_t n = strlen(path), tail = sizeof removed - 1;
    return n > tail && !strcmp(path + n - tail, removed) ? n - tail : n;
}

static bool is_called(const char *path, const char *name)
{
    const char *base = rl_base_name(path);
    size_t n = path_length(base);
    return n == strlen(name) && !strncmp(base, name, n);
}

/* The mapped file that is called like the process, else the one that is no library: sh may be
 * dash. The name it was called by is the last resort. */
static const char *program_of(const struct rl_result *result)
{
    const char *name = rl_base_name(result->arguments);
    for (size_t i = 0; i < result->n_modules; i++)
        if (is_called(result->modules[i].path, name))
            return result->modules[i].path;
    for (size_t i = 0; i < result->n_modules; i++)
        if (!result->modules[i].is_generated && is_program_file(result->modules[i].path))
            return result->modules[i].path;
    return result->arguments;
}

static enum rl_status need_image(struct rl_tally *tally, const char *path, uint32_t *ret,
                                 struct rl_error *err)
{
    for (*ret = 0; *ret < tally->n_image; ++*ret)
        if (!strcmp(tally->image[*ret].path, path))
            return RL_OK;
    struct rl_tally_image *image = rl_array_append(&tally->image, &tally->n_image, sizeof *image);
    if (!image)
        return no_memory(err);
    RL_TRY(rl_string_set(&image->path, path, err));
    image->kernel.kind = RL_KIND_PROGRAM;
    RL_TRY(rl_string_set(&image->kernel.module, path, err));
    return rl_string_set(&image->kernel.name, rl_base_name(path), err);
}

enum rl_status tally_images_find(struct rl_tally *tally, struct code *code, struct rl_error *err)
{
    code->image = calloc(code->n_result + 1, sizeof *code->image);
    if (!code->image)
        return no_memory(err);
    for (size_t i = 0; i < code->n_result; i++) {
        const char *path = program_of(&code->result[i]);
        char *copy = strndup(path, path_length(path));
        enum rl_status status =
            copy ? need_image(tally, copy, &code->image[i], err) : no_memory(err);
        free(copy);
        RL_TRY(status);
        tally->image[code->image[i]].n_process++;
    }
    return RL_OK;
}

enum rl_status tally_images_sum(struct rl_tally *tally, const struct code *code,
                                struct rl_error *err)
{
    for (uint32_t k = 0; tally->n_image > 1 && k < tally->n_image; k++) {
        struct sums sums = {0};
        bool ok = true;
        for (size_t r = 0; r < code->n_result && ok; r++) {
            if (code->image[r] == k)
                ok = code_sum_result(&code->result[r], NULL, NULL, &sums);
        }
        enum rl_status status =
            ok ? sums_fill(&sums, &tally->image[k].kernel, err) : no_memory(err);
        sums_release(&sums);
        RL_TRY(status);
    }
    return RL_OK;
}
