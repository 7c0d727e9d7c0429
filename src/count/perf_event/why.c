#include "count/perf_event/why.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* %P is the paranoid level, %D the detail. */
struct row {
    const char *name;
    const char *text;
    const char *enable;
};

#define LEVEL "kernel.perf_event_paranoid is %P"

static const struct row rows[RL_PMU_WHY_COUNT] = {
    [RL_PMU_FINE] = {"fine", "counted", ""},
    [RL_PMU_UNKNOWN_CORE] = {"unknown-core", "no table of events knows this processor%D", ""},
    [RL_PMU_CONTRADICTED] = {"contradicted",
                             "the processor is not the core that CPUID names, so that core's "
                             "events would count something else%D",
                             ""},
    [RL_PMU_NO_PLAN] = {"no-plan", "this core has no events of use%D", ""},
    [RL_PMU_NO_PMU] = {"no-pmu", "the kernel offers no hardware counters%D",
                       "ask for counters in the virtual machine's settings (vPMU)"},
    [RL_PMU_NO_CALL] = {"no-call", "this kernel has no perf_event_open%D", ""},
    [RL_PMU_PARANOID] = {"paranoid", LEVEL ": programs may not be counted by their users%D",
                         "sudo sysctl kernel.perf_event_paranoid=2"},
    [RL_PMU_POLICY] = {"policy",
                       "perf_event_open is not permitted although " LEVEL
                       ": probably a security module such as SELinux%D",
                       "have the administrator permit perf_event for this user there"},
    [RL_PMU_SYSTEM_ONLY] = {"system-only",
                            LEVEL ": counting for the whole machine needs 0 or less, or "
                                  "CAP_PERFMON%D",
                            "sudo sysctl kernel.perf_event_paranoid=0"},
    [RL_PMU_SECCOMP] = {"seccomp",
                        "perf_event_open is refused although " LEVEL
                        ": probably the container's seccomp profile%D",
                        "run the container with a seccomp profile that allows perf_event_open"},
    [RL_PMU_NO_ROW] = {"no-row", "this core has no event for it%D", ""},
    [RL_PMU_BANNED] = {"banned", "its event is not to be trusted on this core%D", ""},
    [RL_PMU_FORMAT] = {"format", "this kernel does not know a part of the event%D",
                       "use a newer kernel"},
    [RL_PMU_NOT_PLANNED] = {"not-planned", "does not fit into the runs asked for%D",
                            "allow more runs of the program"},
    [RL_PMU_NO_EVENT] = {"no-event", "the kernel does not know the event%D", ""},
    [RL_PMU_NO_REGISTER] = {"no-register",
                            "the register that chooses what to count is not there, as usual in a "
                            "virtual machine%D",
                            ""},
    [RL_PMU_BAD_GROUP] = {"bad-group", "the kernel refuses these events together%D",
                          "sudo sysctl kernel.nmi_watchdog=0"},
    [RL_PMU_NO_DEVICE] = {"no-device", "the counters' device is gone%D", ""},
    [RL_PMU_NO_MODE] = {"no-mode", "the counters cannot count in this way%D", ""},
    [RL_PMU_BUSY] = {"busy", "another program holds the counters for itself%D",
                     "end the other profiler"},
    [RL_PMU_FILES] = {"files", "too few file descriptors are granted%D", "ulimit -n 65536"},
    [RL_PMU_FILES_ALL] = {"files-all", "the system is out of file descriptors%D",
                          "sudo sysctl fs.file-max=1000000"},
    [RL_PMU_GONE] = {"gone", "the program ended before it could be counted%D", ""},
    [RL_PMU_OTHER_KERNEL] = {"other-kernel", "the kernel is too old for this request%D", ""},
    [RL_PMU_NO_MEMORY] = {"no-memory", "the kernel has no memory for counters%D", ""},
    [RL_PMU_UNREST] = {"unrest", "threads kept beginning while their counters were opened%D", ""},
    [RL_PMU_SYSTEM_REFUSED] = {"refused", "perf_event_open failed%D", ""},
    [RL_PMU_SHORT_READ] = {"short-read", "the kernel returned less than the counters asked for%D",
                           ""},
    [RL_PMU_NEVER_ON] = {"never-on", "the counters were never started%D", ""},
    [RL_PMU_NEVER_RAN] = {"never-ran", "the events never got a counter%D",
                          "end other profilers; sudo sysctl kernel.nmi_watchdog=0"},
    [RL_PMU_SHARED] = {"shared",
                       "the events had their counters for part of the time only, and what is "
                       "extrapolated is not trusted%D",
                       "end other profilers; sudo sysctl kernel.nmi_watchdog=0"},
    [RL_PMU_ZERO] = {"zero", "the counters read 0 throughout%D", ""},
    [RL_PMU_OTHER_CORE] = {"other-core", "part of the program ran on cores that cannot count it%D",
                           "keep the program on the performance cores: taskset -c"},
    [RL_PMU_SHORT] = {"short", "the region is too short for them%D", "mark a longer part"},
    [RL_PMU_OTHER_THREADS] = {"other-threads",
                              "threads beside the first opened the region, whose work was not "
                              "counted in this run%D",
                              ""},
    [RL_PMU_UNTESTED] = {"untested", "no self-test has shown that it counts right here%D", ""},
    [RL_PMU_WRONG] = {"wrong", "the self-test failed%D", ""},
    [RL_PMU_BOUND] = {"bound", "a bound, not a count%D", ""},
};

const char *rl_pmu_why_name(enum rl_pmu_why why)
{
    return (unsigned)why < RL_PMU_WHY_COUNT ? rows[why].name : "";
}

enum rl_pmu_why rl_pmu_why_find(const char *name)
{
    unsigned i = 0;
    while (i < RL_PMU_WHY_COUNT && strcmp(rows[i].name, name) != 0)
        i++;
    return (enum rl_pmu_why)i;
}

static size_t append(char *buffer, size_t size, size_t used, const char *text)
{
    int n = snprintf(buffer + used, size - used, "%s", text);
    size_t end = used + (size_t)(n > 0 ? n : 0);
    return end < size ? end : size - 1;
}

const char *rl_pmu_why_text(enum rl_pmu_why why, const struct rl_pmu_host *host, const char *detail,
                            char *buffer, size_t size)
{
    char level[16] = "unknown";
    size_t used = 0;
    if (!size)
        return "";
    if (host && host->has_paranoid)
        snprintf(level, sizeof level, "%d", host->paranoid);
    buffer[0] = '\0';
    for (const char *c = (unsigned)why < RL_PMU_WHY_COUNT ? rows[why].text : ""; *c; c++) {
        char one[2] = {*c, '\0'};
        bool is_mark = *c == '%';
        c += is_mark;
        if (!is_mark) {
            used = append(buffer, size, used, one);
        } else if (*c == 'P') {
            used = append(buffer, size, used, level);
        } else if (detail && detail[0]) {
            used = append(buffer, size, used, ": ");
            used = append(buffer, size, used, detail);
        }
    }
    return buffer;
}

const char *rl_pmu_why_enable(enum rl_pmu_why why)
{
    return (unsigned)why < RL_PMU_WHY_COUNT ? rows[why].enable : "";
}

enum rl_pmu_why rl_pmu_why_from_errno(int error, const struct rl_pmu_host *host, bool is_system)
{
    static const struct {
        int error;
        enum rl_pmu_why why;
    } map[] = {
        {ENOENT, RL_PMU_NO_EVENT},    {ENXIO, RL_PMU_NO_REGISTER},  {EINVAL, RL_PMU_BAD_GROUP},
        {ENODEV, RL_PMU_NO_DEVICE},   {EOPNOTSUPP, RL_PMU_NO_MODE}, {EBUSY, RL_PMU_BUSY},
        {EMFILE, RL_PMU_FILES},       {ENFILE, RL_PMU_FILES_ALL},   {ESRCH, RL_PMU_GONE},
        {E2BIG, RL_PMU_OTHER_KERNEL}, {ENOMEM, RL_PMU_NO_MEMORY},   {ENOSYS, RL_PMU_NO_CALL},
        {EAGAIN, RL_PMU_UNREST},
    };
    if (error == EACCES && is_system)
        return RL_PMU_SYSTEM_ONLY;
    if (error == EACCES)
        return host->has_paranoid && host->paranoid <= 2 ? RL_PMU_POLICY : RL_PMU_PARANOID;
    if (error == EPERM)
        return host->has_paranoid && host->paranoid > 2 ? RL_PMU_PARANOID : RL_PMU_SECCOMP;
    for (size_t i = 0; i < sizeof map / sizeof *map; i++) {
        if (map[i].error == error)
            return map[i].why;
    }
    return RL_PMU_SYSTEM_REFUSED;
}
