#include "count/engine/maps.h"

#include <elf.h>
#include <errno.h>

#include "count/engine/result.h"
#include "count/engine/sys.h"

enum {
    REGIONS_MAX = 256,
    TEXT_BYTES = 4 << 20, /* a process may have 65530 mappings; a line is about 70 bytes */
    PATH_MAX_BYTES = 4096,
    BUILD_ID_MAX = 32,
    NOTE_ALIGN = 4,
};

#define HOLE_ALIGN  (2ul << 20)
#define LOWEST_HOLE 0x10000ul

/** What a hole leaves free of what it is in. */
struct margin {
    uint64_t above; /* a mapping: heaps grow into it */
    uint64_t below; /* a mapping: stacks grow into it */
};

/* The second one where the first finds nothing: better than no room at all. */
static const struct margin margins[] = {{16ul << 20, 136ul << 20}, {2ul << 20, 2ul << 20}};

struct line {
    uint64_t low, high, offset, device, inode;
    const char *flags; /* rwxp */
    const char *path;  /* not terminated: path_bytes */
    uint32_t path_bytes;
};

static struct {
    struct rle_region region[REGIONS_MAX];
    unsigned used;
    unsigned latest;
    uint32_t generation;
    bool unreadable; /* when it was asked last */
} known;

static char maps_text[TEXT_BYTES];

static uint64_t read_number(const char **at, unsigned base)
{
    uint64_t value = 0;
    for (;; (*at)++) {
        char c = **at;
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (base == 16 && c >= 'a' && c <= 'f')
            digit = (unsigned)(c - 'a') + 10;
        else
            return value;
        value = value * base + digit;
    }
}

/* Parse one line of the form "low-high rwxp offset major:minor inode   path". */
static bool read_line(const char **at, struct line *line)
{
    if (!**at)
        return false;
    line->low = read_number(at, 16);
    ++*at;
    line->high = read_number(at, 16);
    ++*at;
    line->flags = *at;
    *at += sizeof("rwxp");
    line->offset = read_number(at, 16);
    ++*at;
    line->device = read_number(at, 16) << 32;
    ++*at;
    line->device |= read_number(at, 16);
    ++*at;
    line->inode = read_number(at, 10);
    while (**at == ' ')
        ++*at;
    line->path = *at;
    while (**at && **at != '\n')
        ++*at;
    line->path_bytes = (uint32_t)(*at - line->path);
    if (**at)
        ++*at;
    return true;
}

/* By the thread: of a process whose first thread has ended /proc/self/maps is empty. */
static const char *read_maps(void)
{
    long n = rle_read_file("/proc/thread-self/maps", maps_text, sizeof(maps_text) - 1);
    if (n == -ENOENT) /* before Linux 3.17 */
        n = rle_read_file("/proc/self/maps", maps_text, sizeof(maps_text) - 1);
    known.unreadable = n <= 0;
    maps_text[n < 0 ? 0 : n] = '\0';
    return maps_text;
}

/* Copy the build id out of a note segment in memory. */
static void read_notes(const uint8_t *note, uint64_t bytes, struct rle_result_module *module)
{
    while (bytes >= sizeof(Elf64_Nhdr)) {
        const Elf64_Nhdr *h = (const Elf64_Nhdr *)note;
        uint64_t name = (h->n_namesz + NOTE_ALIGN - 1ul) & ~(NOTE_ALIGN - 1ul);
        uint64_t desc = (h->n_descsz + NOTE_ALIGN - 1ul) & ~(NOTE_ALIGN - 1ul);
        uint64_t all = sizeof(*h) + name + desc;
        if (all > bytes)
            return;
        const uint8_t *owner = note + sizeof(*h);
        if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == sizeof("GNU") &&
            rle_equal((const char *)owner, "GNU") && h->n_descsz <= BUILD_ID_MAX) {
            module->build_id_bytes = (uint8_t)h->n_descsz;
            rle_copy(module->build_id, owner + name, h->n_descsz);
            return;
        }
        note += all;
        bytes -= all;
    }
}

/* The build id of the file whose first bytes are mapped, readable, at [low, high). */
static void read_build_id(uint64_t low, uint64_t high, struct rle_result_module *module)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)low;
    if (high - low < sizeof(*elf) || elf->e_ident[0] != ELFMAG0 || elf->e_ident[1] != ELFMAG1 ||
        elf->e_ident[2] != ELFMAG2 || elf->e_ident[3] != ELFMAG3 ||
        elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff > high - low ||
        elf->e_phnum * sizeof(Elf64_Phdr) > high - low - elf->e_phoff)
        return;
    const Elf64_Phdr *segment = (const Elf64_Phdr *)(low + elf->e_phoff);
    for (unsigned i = 0; i < elf->e_phnum && !module->build_id_bytes; i++)
        if (segment[i].p_type == PT_NOTE && segment[i].p_offset < high - low &&
            segment[i].p_filesz <= high - low - segment[i].p_offset)
            read_notes((const uint8_t *)low + segment[i].p_offset, segment[i].p_filesz, module);
}

/* The kernel writes a line's end within a name as "\\012". @return bytes written. */
static uint32_t copy_path(char *to, const char *from, uint32_t n)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool is_line_end = n - i >= 4 && from[i] == '\\' && from[i + 1] == '0' &&
                           from[i + 2] == '1' && from[i + 3] == '2';
        to[used++] = is_line_end ? '\n' : from[i];
        i += is_line_end ? 3 : 0;
    }
    return used;
}

static uint32_t record_module(const struct line *line, const struct line *start)
{
    for (uint32_t i = rle_result_used(RLE_SECTION_MODULES); i-- > 0;) {
        const struct rle_result_module *m = rle_result_record(RLE_SECTION_MODULES, i);
        if (m->address == line->low && m->length == line->high - line->low &&
            m->inode == line->inode && m->device == line->device && m->file_offset == line->offset)
            return i;
    }
    struct rle_result_module *module = rle_result_append(RLE_SECTION_MODULES);
    if (!module)
        return RLE_NONE;
    char path[PATH_MAX_BYTES];
    uint32_t n = line->path_bytes < sizeof(path) - 1 ? line->path_bytes : sizeof(path) - 1;
    path[copy_path(path, line->path, n)] = '\0';
    module->address = line->low;
    module->length = line->high - line->low;
    module->file_offset = line->offset;
    module->inode = line->inode;
    module->device = line->device;
    module->writable = line->flags[1] == 'w';
    module->path = rle_result_add_string(path);
    if (module->path == RLE_NONE)
        module->path = 0;
    if (start->inode == line->inode && start->device == line->device && start->low &&
        start->flags[0] == 'r' && start->offset == 0 && (line->inode || start->low == line->low))
        read_build_id(start->low, start->high, module);
    return rle_result_commit(RLE_SECTION_MODULES);
}

static bool can_read(uint64_t address)
{
    uint8_t byte;
    return !rle_copy_guarded(&byte, (const void *)address, sizeof(byte));
}

/* Mappings may reach farther than their file, where there is nothing to read. What of the one that
 * holds `address` is like the page of `address`: there no further, or that page alone. */
static void cut(struct rle_region *r, const struct line *line, uint64_t address)
{
    uint64_t good = address & -RLE_PAGE, bad = line->high;
    r->low = line->low;
    r->high = line->high;
    r->readable = can_read(address);
    if (!line->inode || (r->readable && can_read(line->high - 1)))
        return;
    if (!r->readable && line->flags[0] == 'r') {
        r->low = good;
        r->high = good + RLE_PAGE;
        return;
    }
    while (r->readable && bad - good > RLE_PAGE) {
        uint64_t middle = good + ((bad - good) / 2 & -RLE_PAGE);
        if (can_read(middle))
            good = middle;
        else
            bad = middle;
    }
    r->high = r->readable ? bad : line->high;
}

static const struct rle_region *remember(const struct line *line, const struct line *start,
                                         uint64_t address)
{
    if (known.used == REGIONS_MAX)
        known.used = 0;
    struct rle_region *r = &known.region[known.used];
    cut(r, line, address);
    r->writable = line->flags[1] == 'w' || line->flags[3] == 's';
    r->executable = true;
    r->module = record_module(line, start);
    known.latest = known.used++;
    return r;
}

const struct rle_region *rle_region_at(uint64_t address)
{
    if (known.latest < known.used && address >= known.region[known.latest].low &&
        address < known.region[known.latest].high)
        return &known.region[known.latest];
    for (unsigned i = 0; i < known.used; i++)
        if (address >= known.region[i].low && address < known.region[i].high) {
            known.latest = i;
            return &known.region[i];
        }
    const char *at = read_maps();
    struct line line, start = {0};
    while (read_line(&at, &line)) {
        if (line.offset == 0)
            start = line;
        if (address >= line.low && address < line.high)
            return line.flags[2] == 'x' ? remember(&line, &start, address) : NULL;
    }
    return NULL;
}

bool rle_regions_unknown(void)
{
    return known.unreadable;
}

uint32_t rle_regions_generation(void)
{
    return known.generation + 1;
}

void rle_regions_forget(void)
{
    known.generation++;
    known.used = 0;
    known.latest = 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Where in the hole [low, high) to go for being near `address`; 0 if it is too small. */
static uint64_t place(uint64_t low, uint64_t high, uint64_t address, uint64_t bytes,
                      const struct margin *free)
{
    if (high < low || high - low < free->above + bytes + free->below + HOLE_ALIGN)
        return 0;
    if (low >= address) { /* above: at its lower end, but leave room to grow */
        uint64_t at = low + free->below;
        if (at + bytes + free->above > high)
            at = high - free->above - bytes;
        return at & ~(HOLE_ALIGN - 1);
    }
    return (high - bytes - free->below) & ~(HOLE_ALIGN - 1);
}

static uint64_t find_hole(const char *at, uint64_t address, uint64_t bytes, uint64_t reach,
                          const struct margin *free)
{
    uint64_t previous = LOWEST_HOLE, best = 0, best_distance = reach;
    struct line line;
    while (read_line(&at, &line)) {
        uint64_t hole = place(previous, line.low, address, bytes, free);
        uint64_t far = hole ? distance(hole < address ? hole : hole + bytes, address) : 0;
        if (hole && far < best_distance) {
            best_distance = far;
            best = hole;
        }
        previous = line.high;
    }
    return best;
}

uint64_t rle_find_hole(uint64_t address, uint64_t bytes, uint64_t reach)
{
    const char *maps = read_maps();
    uint64_t hole = 0;
    for (unsigned i = 0; !hole && i < sizeof(margins) / sizeof(*margins); i++)
        hole = find_hole(maps, address, bytes, reach, &margins[i]);
    return hole;
}
