/* Who an Arm processor is: its main identification register, as Linux shows it below /sys, or,
 * where a container hides that, field by field in /proc/cpuinfo. The layout is that of MIDR_EL1,
 * Arm Architecture Reference Manual (DDI 0487), D19.2. */
#include "cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 512, LINE_BYTES = 256, VARIANT_SHIFT = 4 };

struct implementer {
    unsigned code;
    const char *name;
};

/* Codes that Arm assigned; names as lscpu(1) writes them. */
static const struct implementer implementers[] = {
    {0x41, "ARM"},       {0x42, "Broadcom"}, {0x43, "Cavium"}, {0x46, "FUJITSU"},
    {0x48, "HiSilicon"}, {0x4e, "NVIDIA"},   {0x50, "APM"},    {0x51, "Qualcomm"},
    {0x53, "Samsung"},   {0x56, "Marvell"},  {0x61, "Apple"},  {0x6d, "Microsoft"},
    {0x70, "Phytium"},   {0xc0, "Ampere"},
};

struct identity {
    unsigned implementer, variant, part, revision;
};

static FILE *open_below(const char *root, const char *path)
{
    char full[PATH_BYTES];
    int n = snprintf(full, sizeof full, "%s%s", root ? root : "", path);
    return n > 0 && (size_t)n < sizeof full ? fopen(full, "re") : NULL;
}

static bool read_register(const char *root, unsigned number, struct identity *ret)
{
    char path[128], line[LINE_BYTES] = "";
    char *end = line;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/regs/identification/midr_el1",
             number);
    FILE *file = open_below(root, path);
    unsigned long long midr = file && fgets(line, sizeof line, file) ? strtoull(line, &end, 16) : 0;
    if (file)
        fclose(file);
    if (end == line)
        return false;
    *ret = (struct identity){.implementer = (unsigned)(midr >> 24 & 0xFF),
                             .variant = (unsigned)(midr >> 20 & 0xF),
                             .part = (unsigned)(midr >> 4 & 0xFFF),
                             .revision = (unsigned)(midr & 0xF)};
    return true;
}

/* The number behind a line's colon, if the line is called so. */
static bool has_number(const char *line, const char *name, unsigned *ret)
{
    size_t n = strlen(name);
    if (strncmp(line, name, n) != 0 || strspn(line + n, " \t:") == 0)
        return false;
    *ret = (unsigned)strtoul(line + n + strspn(line + n, " \t:"), NULL, 0);
    return true;
}

/* The block of that processor; kernels that write one block for all: that one. */
static bool read_cpuinfo(const char *root, unsigned number, struct identity *ret)
{
    char line[LINE_BYTES];
    struct identity found = {0};
    bool has_implementer = false, has_part = false, is_other = false;
    unsigned processor;
    FILE *file = open_below(root, "/proc/cpuinfo");
    while (file && fgets(line, sizeof line, file)) {
        if (has_number(line, "processor", &processor))
            is_other = processor != number;
        if (is_other)
            continue;
        has_implementer |= has_number(line, "CPU implementer", &found.implementer);
        has_part |= has_number(line, "CPU part", &found.part);
        has_number(line, "CPU variant", &found.variant);
        has_number(line, "CPU revision", &found.revision);
    }
    if (file)
        fclose(file);
    if (has_implementer && has_part)
        *ret = found;
    return has_implementer && has_part;
}

bool rl_cpu_identify_arm(const char *root, unsigned number, struct rl_cpu *cpu)
{
    struct identity id;
    if (!read_register(root, number, &id) && !read_cpuinfo(root, number, &id))
        return false;
    cpu->is_arm = true;
    cpu->family = id.implementer;
    cpu->model = id.part;
    cpu->stepping = id.variant << VARIANT_SHIFT | id.revision;
    snprintf(cpu->vendor, sizeof cpu->vendor, "implementer %#x", id.implementer);
    for (size_t i = 0; i < sizeof implementers / sizeof implementers[0]; i++)
        if (implementers[i].code == id.implementer)
            snprintf(cpu->vendor, sizeof cpu->vendor, "%s", implementers[i].name);
    return true;
}
