/* roofline doctor: what works here, what does not, why, and the line that enables it. */
#include "cli/counters.h"
#include "cli/machine_table.h"
#include "cli/objects.h"
#include "cli/options.h"
#include "cli/store.h"

#include "base/error.h"
#include "base/unit.h"
#include "ceilings/ceilings.h"
#include "cpu/cpu.h"
#include "profile/profile.h"
#include "topology/topology.h"
#include "workload/blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum state {
    GOOD,   /* works */
    ABSENT, /* not here; everything else works without it */
    POOR,   /* works, but results suffer */
};

/* What one check found. */
struct finding {
    enum state state;
    char text[512];
    char enable[160]; /* one line to type; "" if there is nothing to do */
};

struct patient {
    struct rl_machine machine;
    struct rl_cpu cpu;
    bool retest; /* counters, whatever an earlier self-test found */
};

struct check {
    const char *name;
    void (*run)(const struct patient *p, struct finding *f);
    void (*print)(const struct patient *p); /* instead: what takes several lines */
};

static void say(struct finding *f, enum state state, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void say(struct finding *f, enum state state, const char *fmt, ...)
{
    va_list args;
    f->state = state;
    va_start(args, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, args);
    va_end(args);
}

static void enable(struct finding *f, const char *line)
{
    snprintf(f->enable, sizeof f->enable, "%s", line);
}

static void check_core(const struct patient *p, struct finding *f)
{
    if (p->machine.cpu.identity_note)
        say(f, POOR, "%s", p->machine.cpu.identity_note);
    else if (p->machine.cpu.microarchitecture)
        say(f, GOOD, "%s: theoretical limits are known", p->machine.cpu.microarchitecture);
    else
        say(f, ABSENT,
            p->cpu.is_arm
                ? "implementer %#x part %#x (%s) is not in the catalogue: measured ceilings stand "
                  "alone, without theoretical limits"
                : "family %u model %u of '%s' is not in the catalogue: measured ceilings "
                  "stand alone, without theoretical limits",
            p->cpu.family, p->cpu.model, p->cpu.vendor[0] ? p->cpu.vendor : "this maker");
}

static void check_isa(const struct patient *p, struct finding *f)
{
    char missing[256] = "";
    size_t used = 0;
    for (int i = RL_ISA_SCALAR; i < RL_ISA_COUNT; i++) {
        if (rl_cpu_usable(&p->cpu, (enum rl_isa)i))
            continue;
        int n = snprintf(missing + used, sizeof missing - used, "%s%s", used ? " " : "",
                         rl_isa_name((enum rl_isa)i));
        used += n > 0 && used + (size_t)n < sizeof missing ? (size_t)n : 0;
    }
    say(f, GOOD, "%s%s%s", p->machine.cpu.isa ? p->machine.cpu.isa : "portable C",
        missing[0] ? "; not " : "", missing);
}

/* An instruction set the processor has and something else withholds is worth a line. */
static void check_withheld(const struct patient *p, struct finding *f)
{
    say(f, GOOD, "nothing the processor has is withheld");
    for (int i = 0; i < RL_ISA_COUNT; i++) {
        if (p->cpu.isa[i] == RL_ISA_NO_SYSTEM) {
            say(f, POOR, "%s: %s", rl_isa_title((enum rl_isa)i),
                rl_cpu_why_not(&p->cpu, (enum rl_isa)i));
            return;
        }
        if (p->cpu.isa[i] == RL_ISA_MASKED) {
            say(f, POOR, "%s and perhaps others: %s", rl_isa_title((enum rl_isa)i),
                rl_cpu_why_not(&p->cpu, (enum rl_isa)i));
            enable(f, "unset ROOFLINE_ISA");
        }
    }
}

static void check_cores(const struct patient *p, struct finding *f)
{
    const struct rl_topology *t = &p->machine.topology;
    double quota = p->machine.environment.cpu_quota;
    say(f, GOOD, "%u of %u cores usable (CPUs %s)%s%s", t->usable_cores, t->cores,
        t->allowed_cpus ? t->allowed_cpus : "?", t->core_kinds ? ", " : "",
        t->core_kinds ? t->core_kinds : "");
    if (quota > 0 && quota < t->usable_cores) {
        say(f, POOR,
            "the control group grants %.3g CPUs for %u cores: threads will be stopped "
            "again and again, and rates come out low",
            quota, t->usable_cores);
        enable(f, "raise cpu.max (container: --cpus) to the number of cores");
    }
}

static void check_clock(const struct patient *p, struct finding *f)
{
    const char *governor = p->machine.environment.governor;
    if (governor && strcmp(governor, "performance") != 0 && strcmp(governor, "schedutil") != 0) {
        say(f, POOR, "governor %s: the clock may stay low at first", governor);
        enable(f, "sudo cpupower frequency-set -g performance");
        return;
    }
    say(f, GOOD, governor ? "governor %s" : "measured beside every sample%s",
        governor ? governor : ", as no governor is shown here");
}

static void check_huge_pages(const struct patient *p, struct finding *f)
{
    const char *thp = p->machine.environment.thp;
    if (!thp)
        say(f, ABSENT, "the kernel does not show whether it has transparent huge pages");
    else if (strcmp(thp, "never") == 0) {
        say(f, POOR, "off: memory ceilings and latencies include address translation");
        enable(f, "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
    } else
        say(f, GOOD, "%s", thp);
}

static void check_memory(const struct patient *p, struct finding *f)
{
    char free_text[32];
    char limit[32];
    uint64_t available = rl_memory_available(NULL);
    rl_format_size(free_text, sizeof free_text, available);
    if (p->machine.environment.memory_limit_bytes)
        say(f, GOOD, "%s may be allocated, of %s the control group grants", free_text,
            rl_format_size(limit, sizeof limit, p->machine.environment.memory_limit_bytes));
    else
        say(f, GOOD, "%s may be allocated", free_text);
    if (available && available < (UINT64_C(64) << 20))
        say(f, POOR, "only %s may be allocated: measuring needs 64 MiB", free_text);
}

static void check_sampling(const struct patient *p, struct finding *f)
{
    struct rl_error why = {0};
    struct rl_error also = {0};
    char *preload = rl_object_path("librooflinesample.so");
    (void)p;
    if (rl_sample_probe(RL_SAMPLE_PERF, preload, &why) == RL_OK)
        say(f, GOOD, "time of functions by the kernel's software clock");
    else if (rl_sample_probe(RL_SAMPLE_TIMER, preload, &also) == RL_OK)
        say(f, GOOD, "time of functions by timers in the program (%s)", why.text);
    else
        say(f, POOR, "only whole programs can be timed: %s; %s", why.text, also.text);
    free(preload);
}

static void check_engine(const struct patient *p, struct finding *f)
{
    struct rl_error err = {0};
    char *engine = rl_object_path("libroofline-engine.so");
    (void)p;
    if (rl_profile_probe_engine(engine, (const char *const *)environ, &err) == RL_OK)
        say(f, GOOD, "counted a program: operations and bytes are exact");
    else
        say(f, POOR, "programs cannot be counted: %s", err.text);
    free(engine);
}

static void check_attaching(const struct patient *p, struct finding *f)
{
    static const char yama[] = "kernel.yama.ptrace_scope";
    struct rl_error err = {0};
    char *engine = rl_object_path("libroofline-engine.so");
    char *launcher = rl_object_path("roofline-engine-launch");
    (void)p;
    if (rl_profile_probe_attach(engine, launcher, &err) == RL_OK)
        say(f, GOOD, "counted a running process");
    else
        say(f, ABSENT, "running processes cannot be counted: %s", err.text);
    if (f->state == ABSENT && strstr(err.text, yama))
        enable(f, "sudo sysctl kernel.yama.ptrace_scope=0");
    free(engine);
    free(launcher);
}

static void check_blas(const struct patient *p, struct finding *f)
{
    struct rl_error err = {0};
    (void)p;
    /* Without address space for their buffers OpenBLAS's threads try for ever, and exit waits. */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    if (rl_blas_probe(NULL, &err) == RL_OK) {
        say(f, GOOD, "found; 'roofline bench gemm' compares with it");
        return;
    }
    say(f, ABSENT, "%s", err.text);
    enable(f, "sudo apt-get install libopenblas0-pthread");
}

static void check_library(struct finding *f, const char *soname, const char *line)
{
    void *handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
    if (handle) {
        dlclose(handle);
        say(f, GOOD, "%s", soname);
        return;
    }
    say(f, ABSENT, "no library %s: its special functions have no ceiling", soname);
    enable(f, line);
}

static void check_libmvec(const struct patient *p, struct finding *f)
{
    (void)p;
    check_library(f, "libmvec.so.1", "sudo apt-get install libc6");
}

static void check_sleef(const struct patient *p, struct finding *f)
{
    (void)p;
    check_library(f, "libsleef.so.3", "sudo apt-get install libsleef3");
}

static void check_record(const struct patient *p, struct finding *f)
{
    struct rl_machine machine = {0};
    struct rl_error err = {0};
    if (rl_store_load(p->machine.key, &machine, &err) == RL_OK) {
        say(f, GOOD, "measured %s, %zu ceilings",
            machine.environment.date ? machine.environment.date : "at an unknown date",
            machine.n_compute + machine.n_memory + machine.n_latency);
    } else {
        say(f, ABSENT, "%s", err.text);
        enable(f, "roofline measure");
    }
    rl_machine_release(&machine);
}

static void print_finding(const char *name, const struct finding *f)
{
    static const char *const marks[] = {[GOOD] = "ok  ", [ABSENT] = "-   ", [POOR] = "!   "};
    char head[64];
    int used = snprintf(head, sizeof head, "%s%-17s ", marks[f->state], name);
    rl_put_wrapped(stdout, head, (unsigned)used, f->text);
    if (f->enable[0])
        printf("    %-17s   enable: %s\n", "", f->enable);
}

/* Counters by what they count; they are tested now unless that was done before. */
static void print_counters(const struct patient *p)
{
    struct rl_counters counters;
    struct rl_pmu_line line[4];
    struct rl_error err = {0};
    enum rl_status status = rl_counters_open(NULL, &counters, &err);
    if (status == RL_OK)
        status = rl_counters_test(&counters, &p->machine, p->retest, &err);
    size_t n = counters.pmu ? rl_pmu_doctor(counters.pmu, line, RL_COUNT(line)) : 0;
    for (size_t i = 0; i < n; i++) {
        struct finding f = {0};
        say(&f, line[i].works ? GOOD : ABSENT, "%s%s", line[i].text,
            n == 1 && !line[i].works ? "; nothing here needs them" : "");
        enable(&f, line[i].enable);
        print_finding(line[i].name, &f);
    }
    if (!n || (status != RL_OK && n > 1)) {
        struct finding f = {0};
        say(&f, ABSENT, "%s", err.text);
        print_finding("counters", &f);
    }
    rl_counters_close(&counters);
}

static const struct check checks[] = {
    {"core", check_core, NULL},
    {"instruction sets", check_isa, NULL},
    {"withheld", check_withheld, NULL},
    {"cores", check_cores, NULL},
    {"clock", check_clock, NULL},
    {"huge pages", check_huge_pages, NULL},
    {"memory", check_memory, NULL},
    {"sampling", check_sampling, NULL},
    {"counting", check_engine, NULL},
    {"attaching", check_attaching, NULL},
    {"counters", NULL, print_counters},
    {"BLAS", check_blas, NULL},
    {"libmvec", check_libmvec, NULL},
    {"SLEEF", check_sleef, NULL},
    {"machine record", check_record, NULL},
};

static enum rl_status examine(bool retest, struct rl_error *err)
{
    struct patient p = {.retest = retest};
    const char *mask = getenv("ROOFLINE_ISA");
    RL_TRY(rl_cpu_detect(mask, &p.cpu, err));
    RL_TRY(rl_host_describe(mask, &p.machine, err));
    rl_machine_table_head(stdout, &p.machine);
    putchar('\n');
    for (size_t i = 0; i < RL_COUNT(checks); i++) {
        struct finding f = {0};
        if (checks[i].print) {
            checks[i].print(&p);
            continue;
        }
        checks[i].run(&p, &f);
        print_finding(checks[i].name, &f);
    }
    rl_machine_release(&p.machine);
    return RL_OK;
}

static int run(const struct rl_command *self, int argc, char **argv)
{
    bool retest = false;
    const struct rl_option options[] = {
        {RL_OPT_FLAG, "retest", 0, NULL, "test hardware counters again", &retest, 0, 0},
    };
    struct rl_arguments args =
        rl_options_parse(self, options, RL_COUNT(options), argc, argv, false);
    struct rl_error err = {0};
    if (args.done)
        return args.exit_code;
    if (args.n)
        return rl_usage_error(self, "takes no arguments, but got '%s'", args.item[0]);
    return examine(retest, &err) == RL_OK ? RL_EXIT_DONE : rl_report_error(&err);
}

const struct rl_command rl_cmd_doctor = {
    .name = "doctor",
    .summary = "what works on this machine, what does not, and the line that enables it",
    .synopsis = "[-q] [--retest]",
    .run = run,
};
