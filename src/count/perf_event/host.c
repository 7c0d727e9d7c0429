#include "count/perf_event/host.h"

#include "catalog/catalog.h"
#include "count/perf_event/table.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

#define DEVICES        "/sys/bus/event_source/devices"
#define ARM_CORES      "armv8_*"
#define CAP_SYS_ADMIN_ 21
#define CAP_PERFMON_   38
#define BYTES_PER_MIB  1048576.0

/* The first line of a small file, without its end. */
static bool read_line(const struct rl_pmu_host *host, const char *path, char *buffer, size_t size)
{
    char full[512];
    int n = snprintf(full, sizeof full, "%s%s", host->root, path);
    FILE *file = n > 0 && (size_t)n < sizeof full ? fopen(full, "re") : NULL;
    if (!file)
        return false;
    bool ok = fgets(buffer, (int)size, file) != NULL;
    fclose(file);
    if (ok)
        buffer[strcspn(buffer, "\n")] = '\0';
    return ok;
}

static bool read_number(const struct rl_pmu_host *host, const char *path, int base, long long *ret)
{
    char text[64];
    char *end;
    if (!read_line(host, path, text, sizeof text))
        return false;
    long long value = strtoll(text, &end, base);
    if (end == text)
        return false;
    *ret = value;
    return true;
}

static void detect_arm(struct rl_pmu_host *host)
{
    struct rl_cpu cpu;
    if (!rl_cpu_identify_arm(host->root, 0, &cpu))
        return;
    snprintf(host->maker, sizeof host->maker, "arm");
    host->family = cpu.family;
    host->model = cpu.model;
    host->stepping = cpu.stepping;
}

/* Events of another core count something else under the same number. Without memory to find out,
 * what the processor says of itself is believed. */
static bool is_contradicted(const struct rl_cpu *cpu)
{
    struct rl_catalog catalog = {0};
    struct rl_identity identity = {0};
    bool found = false;
    if (rl_catalog_load(&catalog, NULL) == RL_OK &&
        rl_catalog_identify(&catalog, cpu, &identity, NULL) == RL_OK)
        found = identity.is_contradicted;
    rl_identity_release(&identity);
    rl_catalog_release(&catalog);
    return found;
}

static void detect_x86(const struct rl_cpu *cpu, struct rl_pmu_host *host)
{
    const char *maker = strcmp(cpu->vendor, "GenuineIntel") == 0   ? "intel"
                        : strcmp(cpu->vendor, "AuthenticAMD") == 0 ? "amd"
                                                                   : "";
    snprintf(host->maker, sizeof host->maker, "%s", maker);
    host->family = cpu->family;
    host->model = cpu->model;
    host->stepping = cpu->stepping;
    host->is_virtual = cpu->hypervisor[0] != '\0';
    host->is_contradicted = is_contradicted(cpu);
    /* What is masked from us is not masked from the program. */
    bool has_512 =
        cpu->isa[RL_ISA_AVX512] == RL_ISA_USABLE || cpu->isa[RL_ISA_AVX512] == RL_ISA_MASKED;
    host->vector_bits = has_512 ? 512 : 256;
}

static bool has_capability(const struct rl_pmu_host *host)
{
    char path[256];
    char line[128];
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/self/status", host->root);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        if (strncmp(line, "CapEff:", 7) != 0)
            continue;
        unsigned long long set = strtoull(line + 7, NULL, 16);
        found = set >> CAP_SYS_ADMIN_ & 1 || set >> CAP_PERFMON_ & 1;
    }
    if (file)
        fclose(file);
    return found;
}

static unsigned sve_bits(const struct rl_pmu_host *host)
{
#if defined(__aarch64__) && defined(PR_SVE_GET_VL)
    int length = host->root[0] ? -1 : prctl(PR_SVE_GET_VL);
    if (length > 0)
        return 8 * (unsigned)(length & PR_SVE_VL_LEN_MASK);
#endif
    /* A recorded machine names its vectors here, in bytes. */
    long long bytes = 0;
    read_number(host, "/proc/sys/abi/sve_default_vector_length", 10, &bytes);
    return bytes > 0 && bytes <= 256 ? 8 * (unsigned)bytes : 0;
}

static void detect_build(struct rl_pmu_host *host)
{
    struct utsname name;
    char line[160];
    char path[256];
    if (!read_line(host, "/proc/sys/kernel/osrelease", host->kernel, sizeof host->kernel) &&
        uname(&name) == 0)
        snprintf(host->kernel, sizeof host->kernel, "%.60s", name.release);
    snprintf(path, sizeof path, "%s/proc/cpuinfo", host->root);
    FILE *file = fopen(path, "re");
    while (file && !host->microcode[0] && fgets(line, sizeof line, file)) {
        if (strncmp(line, "microcode", 9) == 0)
            sscanf(line, "microcode : %20s", host->microcode);
    }
    if (file)
        fclose(file);
}

void rl_pmu_host_detect(const char *root, const struct rl_cpu *cpu, struct rl_pmu_host *ret)
{
    struct rl_pmu_host host = {0};
    long long number;
    snprintf(host.root, sizeof host.root, "%s", root ? root : "");
    if (cpu && cpu->vendor[0] && !cpu->is_arm)
        detect_x86(cpu, &host);
    else
        detect_arm(&host);
    host.has_paranoid = read_number(&host, "/proc/sys/kernel/perf_event_paranoid", 10, &number);
    host.paranoid = host.has_paranoid ? (int)number : 0;
    host.has_smt =
        read_number(&host, "/sys/devices/system/cpu/smt/active", 10, &number) && number == 1;
    host.has_watchdog =
        read_number(&host, "/proc/sys/kernel/nmi_watchdog", 10, &number) && number == 1;
    host.is_privileged = has_capability(&host);
    if (strcmp(host.maker, "arm") == 0)
        host.vector_bits = sve_bits(&host);
    detect_build(&host);
    *ret = host;
}

static bool read_device(const struct rl_pmu_host *host, const char *name, struct rl_pmu_device *ret)
{
    struct rl_pmu_device device = {0};
    char path[160];
    long long type;
    if (strlen(name) >= sizeof device.name)
        return false;
    snprintf(device.name, sizeof device.name, "%s", name);
    snprintf(path, sizeof path, DEVICES "/%s/type", name);
    if (!read_number(host, path, 10, &type) || type < 0 || type > UINT32_MAX)
        return false;
    device.type = (uint32_t)type;
    snprintf(path, sizeof path, DEVICES "/%s/cpumask", name);
    if (!read_line(host, path, device.cpus, sizeof device.cpus)) {
        snprintf(path, sizeof path, DEVICES "/%s/cpus", name);
        if (!read_line(host, path, device.cpus, sizeof device.cpus))
            device.cpus[0] = '\0';
    }
    *ret = device;
    return true;
}

/* uncore_imc_2 before uncore_imc_10. */
static int by_name(const void *a, const void *b)
{
    return strverscmp(((const struct rl_pmu_device *)a)->name,
                      ((const struct rl_pmu_device *)b)->name);
}

/* The * stands for a number, as uncore_imc_* is not uncore_imc_free_running_0; but Arm's core PMUs
 * are told apart by words. */
static bool is_wanted(const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    if (name[0] == '.' || !rl_pmu_fits(pattern, name))
        return false;
    if (!star || strcmp(pattern, ARM_CORES) == 0)
        return true;
    const char *rest = name + (star - pattern);
    return strcmp(rest + strspn(rest, "0123456789"), star + 1) == 0;
}

size_t rl_pmu_devices(const struct rl_pmu_host *host, const char *pattern,
                      struct rl_pmu_device *ret, size_t n_max)
{
    char path[256];
    size_t n = 0;
    snprintf(path, sizeof path, "%s" DEVICES, host->root);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && n < n_max && (entry = readdir(folder));) {
        if (is_wanted(pattern, entry->d_name) && read_device(host, entry->d_name, &ret[n]))
            n++;
    }
    if (folder)
        closedir(folder);
    qsort(ret, n, sizeof *ret, by_name);
    return n;
}

bool rl_pmu_core_device(const struct rl_pmu_host *host, char kind, struct rl_pmu_device *ret)
{
    struct rl_pmu_device device[2];
    if (strcmp(host->maker, "arm") == 0) {
        /* Two kinds of core would be two PMUs, and which is which is not known here. */
        if (rl_pmu_devices(host, ARM_CORES, device, 2) != 1)
            return false;
        *ret = device[0];
        return true;
    }
    bool is_hybrid = read_device(host, "cpu_core", &device[0]);
    if (!is_hybrid)
        return read_device(host, "cpu", ret);
    return read_device(host, kind == 'E' ? "cpu_atom" : "cpu_core", ret);
}

/* Bits of a format line such as "config:0-7,32-35" that belong to `word`. */
static uint64_t format_bits(const char *text, const char *word)
{
    size_t n = strcspn(text, ":");
    uint64_t bits = 0;
    if (n != strlen(word) || strncmp(text, word, n) != 0)
        return 0;
    for (const char *at = text + n; *at == ':' || *at == ',';) {
        char *end;
        unsigned long first = strtoul(at + 1, &end, 10);
        unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        for (unsigned long i = first; i <= last && i < 64; i++)
            bits |= UINT64_C(1) << i;
        at = end;
    }
    return bits;
}

static bool format_line(const struct rl_pmu_host *host, const char *device, const char *field,
                        char line[64])
{
    char path[400];
    snprintf(path, sizeof path, DEVICES "/%s/format/%.255s", device, field);
    return read_line(host, path, line, 64);
}

const char *rl_pmu_format_lacks(const struct rl_pmu_host *host, const char *device, uint64_t config,
                                uint64_t config1)
{
    char path[320];
    char line[64];
    uint64_t bits = 0;
    snprintf(path, sizeof path, "%s" DEVICES "/%s/format", host->root, device);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] != '.' && format_line(host, device, entry->d_name, line))
            bits |= format_bits(line, "config");
    }
    if (folder)
        closedir(folder);
    if (config & ~bits)
        return "config";
    /* Other fields share config1; only this one is the register meant. */
    if (config1 && (!format_line(host, device, "offcore_rsp", line) ||
                    config1 & ~format_bits(line, "config1")))
        return "offcore_rsp";
    return NULL;
}

/* Spread a value over the bits of a field, lowest first. */
static uint64_t scatter(uint64_t value, uint64_t bits)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 64; i++) {
        if (!(bits >> i & 1))
            continue;
        result |= (value & 1) << i;
        value >>= 1;
    }
    return value ? 0 : result;
}

/* One term "event=0x1" of an event. */
static bool add_term(const struct rl_pmu_host *host, const char *device, char *term,
                     struct rl_pmu_named *named)
{
    char line[64];
    char *end;
    char *equals = strchr(term, '=');
    unsigned long long value = 1;
    if (equals) {
        *equals = '\0';
        value = strtoull(equals + 1, &end, 0);
        if (end == equals + 1 || *end)
            return false;
    }
    for (const char *c = term; *c; c++) {
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
    }
    if (strcmp(term, "config") == 0) {
        named->config |= value;
        return true;
    }
    if (!format_line(host, device, term, line))
        return false;
    uint64_t bits = format_bits(line, "config");
    uint64_t bits1 = format_bits(line, "config1");
    named->config |= scatter(value, bits);
    named->config1 |= scatter(value, bits1);
    return bits || bits1;
}

/* Bytes of one count: scale and unit as the kernel writes them. */
static double named_bytes(const struct rl_pmu_host *host, const char *device, const char *name)
{
    char path[256];
    char text[64];
    char *end;
    snprintf(path, sizeof path, DEVICES "/%s/events/%s.unit", device, name);
    if (!read_line(host, path, text, sizeof text) || strcmp(text, "MiB") != 0)
        return 0;
    snprintf(path, sizeof path, DEVICES "/%s/events/%s.scale", device, name);
    if (!read_line(host, path, text, sizeof text))
        return 0;
    double scale = strtod(text, &end);
    return end != text && scale > 0 && scale < 1 ? scale * BYTES_PER_MIB : 0;
}

bool rl_pmu_named_event(const struct rl_pmu_host *host, const char *device, const char *name,
                        struct rl_pmu_named *ret)
{
    struct rl_pmu_named named = {0};
    char path[256];
    char text[128];
    snprintf(path, sizeof path, DEVICES "/%s/events/%s", device, name);
    if (!read_line(host, path, text, sizeof text))
        return false;
    for (char *rest = text, *term; (term = strtok_r(rest, ",", &rest));) {
        if (!add_term(host, device, term, &named))
            return false;
    }
    named.bytes = named_bytes(host, device, name);
    *ret = named;
    return true;
}

size_t rl_pmu_cpu_list(const char *text, int *ret, size_t n_max)
{
    size_t n = 0;
    for (const char *at = text; at && *at >= '0' && *at <= '9';) {
        char *end;
        unsigned long first = strtoul(at, &end, 10);
        unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        for (unsigned long cpu = first; cpu <= last && n < n_max && cpu < 1u << 20; cpu++)
            ret[n++] = (int)cpu;
        at = *end == ',' ? end + 1 : NULL;
    }
    return n;
}
