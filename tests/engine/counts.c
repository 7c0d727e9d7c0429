/* Prints what a result file of the counting engine says: instructions executed in all, by function
 * of one object, and by mnemonic within that object. A reader of its own, independent of the
 * product's, straight from result_format.h.
 *
 *   counts FILE [OBJECT-SUFFIX]
 *
 * Output lines: "state N", "status N", "threads N", "translated N", "uncounted REASON N CLOSED",
 * "late REASON N", "insns N", "blocks N", "function NAME INSNS", "mnemonic NAME INSNS"; with
 * regions also, for each and for what is outside all (named -), "region NAME entries N", "region
 * NAME insns N", "region NAME mnemonic MNEMONIC N". */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "count/engine/result_format.h"

struct symbol {
    uint64_t low, high; /* file offsets */
    const char *name;
    int64_t insns;
};

static const char *file;
static const struct rle_result_header *header;
static struct symbol *symbols;
static size_t n_symbols;
static int64_t only_region = -1; /* as in extents; -1: all */
static int64_t mnemonics[ZYDIS_MNEMONIC_MAX_VALUE + 1];

static const void *map_file(const char *path, size_t *ret_bytes)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) < 0) {
        perror(path);
        exit(1);
    }
    void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (at == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    *ret_bytes = (size_t)status.st_size;
    return at;
}

static const void *record(enum rle_section_id id, uint32_t index)
{
    const struct rle_result_section *s = &header->sections[id];
    return file + s->offset + (uint64_t)index * s->stride;
}

static uint32_t used(enum rle_section_id id)
{
    return header->sections[id].used;
}

static int64_t counter(uint32_t index)
{
    int64_t sum = 0;
    if (index == RLE_NONE)
        return 0;
    for (uint32_t e = 0; e < used(RLE_SECTION_EXTENTS); e++) {
        const struct rle_result_extent *extent = record(RLE_SECTION_EXTENTS, e);
        if (only_region >= 0 && extent->region != only_region)
            continue;
        sum += *(const int64_t *)(const void *)(file + extent->offset + 8ull * index);
    }
    return sum;
}

static int by_offset(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

static void read_symbols(const char *path)
{
    size_t bytes;
    const char *elf = map_file(path, &bytes);
    const Elf64_Ehdr *eh = (const void *)elf;
    const Elf64_Shdr *sections = (const void *)(elf + eh->e_shoff);
    for (unsigned i = 0; i < eh->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *sym = (const void *)(elf + sections[i].sh_offset);
        const char *names = elf + sections[sections[i].sh_link].sh_offset;
        size_t n = sections[i].sh_size / sizeof(*sym);
        symbols = realloc(symbols, (n_symbols + n) * sizeof(*symbols));
        for (size_t k = 0; k < n; k++) {
            if (ELF64_ST_TYPE(sym[k].st_info) != STT_FUNC || !sym[k].st_size ||
                sym[k].st_shndx >= eh->e_shnum)
                continue;
            const Elf64_Shdr *in = &sections[sym[k].st_shndx];
            uint64_t at = sym[k].st_value - in->sh_addr + in->sh_offset;
            symbols[n_symbols++] =
                (struct symbol){at, at + sym[k].st_size, names + sym[k].st_name, 0};
        }
    }
    qsort(symbols, n_symbols, sizeof(*symbols), by_offset);
}

static struct symbol *find_symbol(uint64_t offset)
{
    for (size_t i = n_symbols; i-- > 0;)
        if (offset >= symbols[i].low && offset < symbols[i].high)
            return &symbols[i];
    return NULL;
}

/* Add `executions` of the instructions of a block from its instruction `from` on. */
static void add_block(const struct rle_result_block *block, unsigned from, int64_t executions,
                      const ZydisDecoder *decoder, const bool *is_object)
{
    const uint8_t *code = (const uint8_t *)record(RLE_SECTION_CODE, block->code);
    uint64_t offset = 0;
    if (block->module == RLE_NONE || !is_object[block->module] || !executions)
        return;
    const struct rle_result_module *m = record(RLE_SECTION_MODULES, block->module);
    for (unsigned i = 0; i < block->n_insns; i++) {
        ZydisDecodedInstruction insn;
        if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(decoder, NULL, code + offset,
                                                      block->code_bytes - offset, &insn)))
            return;
        if (i >= from) {
            struct symbol *s = find_symbol(block->address + offset - m->address + m->file_offset);
            mnemonics[insn.mnemonic] += executions;
            if (s)
                s->insns += executions;
        }
        offset += insn.length;
    }
}

static void sum(const bool *is_object, const char *prefix)
{
    ZydisDecoder decoder;
    int64_t insns = 0, blocks = 0;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (uint32_t f = 0; f < used(RLE_SECTION_FRAGMENTS); f++) {
        const struct rle_result_fragment *fragment = record(RLE_SECTION_FRAGMENTS, f);
        int64_t executions = counter(fragment->head_counter);
        for (uint32_t b = 0; b < fragment->n_blocks; b++) {
            const struct rle_result_block *block =
                record(RLE_SECTION_BLOCKS, fragment->first_block + b);
            insns += executions * block->n_insns;
            blocks += executions;
            add_block(block, 0, executions, &decoder, is_object);
            executions -= counter(block->exit_counter);
        }
    }
    for (uint32_t c = 0; c < used(RLE_SECTION_CORRECTIONS); c++) {
        const struct rle_result_correction *correction = record(RLE_SECTION_CORRECTIONS, c);
        if (correction->kind != RLE_CORRECTION_LEFT)
            continue;
        const struct rle_result_fragment *fragment =
            record(RLE_SECTION_FRAGMENTS, correction->fragment);
        int64_t times = counter(correction->counter);
        unsigned skip = correction->insn;
        for (uint32_t b = 0; b < fragment->n_blocks; b++) {
            const struct rle_result_block *block =
                record(RLE_SECTION_BLOCKS, fragment->first_block + b);
            unsigned from = skip < block->n_insns ? skip : block->n_insns;
            skip -= from;
            insns -= times * (block->n_insns - from);
            add_block(block, from, -times, &decoder, is_object);
        }
    }
    printf("%sinsns %" PRId64 "\n", prefix, insns);
    if (!*prefix)
        printf("blocks %" PRId64 "\n", blocks);
}

static void print_mnemonics(const char *prefix)
{
    for (unsigned i = 0; i <= ZYDIS_MNEMONIC_MAX_VALUE; i++)
        if (mnemonics[i])
            printf("%smnemonic %s %" PRId64 "\n", prefix, ZydisMnemonicGetString(i), mnemonics[i]);
}

/* Region 0 is what lies outside all. */
static void print_region(uint32_t region, const bool *is_object)
{
    char prefix[256];
    const char *name = "-";
    uint64_t entries = 0;
    if (region) {
        const struct rle_result_region *r = record(RLE_SECTION_REGIONS, region - 1);
        name = record(RLE_SECTION_STRINGS, r->name);
        entries = r->entries;
    }
    memset(mnemonics, 0, sizeof(mnemonics));
    only_region = region;
    snprintf(prefix, sizeof(prefix), "region %s ", name);
    printf("%sentries %" PRIu64 "\n", prefix, entries);
    sum(is_object, prefix);
    print_mnemonics(prefix);
}

/* By reason: stretches of time, how many of them have an end, and how many began in the second half
 * of the process. */
static void print_uncounted(void)
{
    for (uint32_t reason = RLE_UNCOUNTED_DETACHED; reason <= RLE_UNCOUNTED_PAUSED; reason++) {
        unsigned n = 0, closed = 0, late = 0;
        uint64_t middle = header->start_ns + (header->end_ns - header->start_ns) / 2;
        for (uint32_t i = 0; i < used(RLE_SECTION_UNCOUNTED); i++) {
            const struct rle_result_uncounted *u = record(RLE_SECTION_UNCOUNTED, i);
            n += u->reason == reason && u->events > 0;
            closed += u->reason == reason && u->end_ns > u->begin_ns;
            late += u->reason == reason && u->events > 0 && u->begin_ns > middle;
        }
        if (n)
            printf("uncounted %u %u %u\nlate %u %u\n", reason, n, closed, reason, late);
    }
}

int main(int argc, char **argv)
{
    size_t bytes;
    if (argc < 2)
        return 2;
    file = map_file(argv[1], &bytes);
    header = (const void *)file;
    if (memcmp(header->magic, RLE_RESULT_MAGIC, sizeof(header->magic)) ||
        header->version != RLE_RESULT_VERSION) {
        fprintf(stderr, "%s: not a result file\n", argv[1]);
        return 1;
    }
    uint32_t n_modules = used(RLE_SECTION_MODULES);
    bool *is_object = calloc(n_modules + 1, sizeof(*is_object));
    for (uint32_t m = 0; m < n_modules; m++) {
        const struct rle_result_module *module = record(RLE_SECTION_MODULES, m);
        const char *path = record(RLE_SECTION_STRINGS, module->path);
        size_t n = strlen(path), k = argc > 2 ? strlen(argv[2]) : 0;
        is_object[m] = k && n >= k && !strcmp(path + n - k, argv[2]);
        if (is_object[m] && !symbols)
            read_symbols(path);
    }
    printf("state %u\nstatus %d\nthreads %u\n", header->state, header->exit_status,
           used(RLE_SECTION_THREADS));
    printf("translated %" PRIu64 "\nfragments %u\nmodules %u\n", header->translated_insns,
           used(RLE_SECTION_FRAGMENTS), n_modules);
    if (*header->message)
        printf("message %s\n", header->message);
    print_uncounted();
    sum(is_object, "");
    for (size_t i = 0; i < n_symbols; i++)
        if (symbols[i].insns)
            printf("function %s %" PRId64 "\n", symbols[i].name, symbols[i].insns);
    print_mnemonics("");
    if (used(RLE_SECTION_REGIONS))
        for (uint32_t r = 0; r <= used(RLE_SECTION_REGIONS); r++)
            print_region(r, is_object);
    free(is_object);
    free(symbols);
    return 0;
}
