#include "count/engine/takeover.h"

#include <cpuid.h>
#include <elf.h>
#include <sys/resource.h>

#include "count/engine/attach.h"
#include "count/engine/branch.h"
#include "count/engine/corrections.h"
#include "count/engine/dispatch.h"
#include "count/engine/engine.h"
#include "count/engine/environment.h"
#include "count/engine/link.h"
#include "count/engine/result.h"
#include "count/engine/rseq.h"
#include "count/engine/signals.h"
#include "count/engine/trace.h"

#define AMPLE_ADDRESS_SPACE (32ul << 30)
/** Enough for tables and the counters of a hundred threads. */
#define AMPLE_FILE (8ul << 30)

int rle_take_over(long argc, char **argv, char **envp);
int rle_take_over_at_entry(uint64_t *stack);

enum {
    CPUID_FEATURES = 7,
    CPUID_XSTATE = 0xD,
    HWCAP2_FSGSBASE = 2,
    XSTATE_SLACK_BYTES = 4096, /* software bytes and what permission requests may add */
    SHRINK = 4,
};

struct rle_engine rle_engine;

static bool complain(const char *what)
{
    rle_complain(what);
    return false;
}

/* The auxiliary vector stands behind the environment. */
static uint64_t auxiliary(char **envp, uint64_t type)
{
    while (*envp)
        envp++;
    for (const Elf64_auxv_t *a = (const Elf64_auxv_t *)(envp + 1); a->a_type != AT_NULL; a++)
        if (a->a_type == type)
            return a->a_un.a_val;
    return 0;
}

static uint32_t largest_xstate(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid_count(CPUID_XSTATE, 0, &eax, &ebx, &ecx, &edx))
        return RLE_XSTATE_LEGACY_BYTES;
    return ecx + XSTATE_SLACK_BYTES;
}

static bool has_rtm(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(CPUID_FEATURES, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_RTM);
}

static const struct rle_instrument *instrument_of(uint32_t mode)
{
    if (mode == RLE_MODE_TRAFFIC)
        return &rle_instrument_sampled;
    return mode == RLE_MODE_FULL ? &rle_instrument_full : &rle_instrument_none;
}

/* Soft limit, or hard limit, on a resource. */
static uint64_t limit_of(int resource, bool hard)
{
    uint64_t limit[2] = {~0ul, ~0ul};
    rle_sys4(SYS_prlimit64, 0, resource, 0, (long)limit);
    return limit[hard];
}

/* Tables and result file; smaller ones where address space or the size of files is limited, or
 * memory is not overcommitted. */
static bool make_tables(void)
{
    if (limit_of(RLIMIT_AS, false) < AMPLE_ADDRESS_SPACE ||
        limit_of(RLIMIT_FSIZE, true) < AMPLE_FILE)
        rle_engine.shrink = SHRINK;
    if (rle_links_init() && rle_corrections_init())
        return true;
    if (rle_engine.shrink)
        return false;
    rle_engine.shrink = SHRINK;
    return rle_links_init() && rle_corrections_init();
}

static const char bad_options[] = "bad options in " RLE_OPTIONS_ENV;
static const char no_result[] = "the result file cannot be created or mapped";

/* One that was switched on before take-over knows nothing of calls within the cache. */
static bool has_shadow_stack(void)
{
    enum { ARCH_SHSTK_STATUS = 0x5005 };
    uint64_t features = 0;
    return !rle_is_error(rle_sys3(SYS_arch_prctl, ARCH_SHSTK_STATUS, (long)&features, 0)) &&
           features != 0;
}

const char *rle_prepare(const char *options, bool has_fsgsbase)
{
    if (!rle_options_parse(options, &rle_engine.options))
        return bad_options;
    rle_engine.instrument = instrument_of(rle_engine.options.mode);
    rle_engine.has_fsgsbase = has_fsgsbase && rle_engine.options.fsgsbase;
    rle_engine.real_calls = rle_engine.options.real_calls && !has_shadow_stack();
    rle_engine.xstate_bytes = largest_xstate();
    rle_engine.has_rtm = has_rtm();
    static bool has_tables, has_branch_tables; /* an attempt before may have failed later on */
    if (!has_tables && !(has_tables = make_tables()))
        return "not enough address space for the engine's tables";
    if (!has_branch_tables && !(has_branch_tables = rle_branch_tables_init()))
        return "no free address space below 2 GiB";
    if (rle_is_error(rle_result_open(rle_engine.options.output, rle_engine.options.mode)))
        return no_result;
    return rle_engine.instrument != &rle_instrument_none ? rle_trace_open() : NULL;
}

const char *rle_renew(const char *options)
{
    uint32_t mode = rle_engine.options.mode;
    if (!rle_options_parse(options, &rle_engine.options))
        return bad_options;
    if (instrument_of(mode) != instrument_of(rle_engine.options.mode))
        return "it was attached to in another mode, and what was translated then stays";
    if (rle_is_error(rle_result_renew(rle_engine.options.output, rle_engine.options.mode)))
        return no_result;
    rle_threads_renew();
    return NULL;
}

static bool prepare(char **envp)
{
    uint64_t hwcap2 = auxiliary(envp, AT_HWCAP2);
    const char *options = rle_environment_clean(envp);
    if (!options)
        return false;
    const char *problem = rle_prepare(options, hwcap2 & HWCAP2_FSGSBASE);
    return !problem || complain(problem);
}

static bool begin(const char *const *argv)
{
    struct rle_thread *thread = rle_thread_new(NULL);
    if (!thread)
        return complain("no memory for the first thread");
    rle_control.state = RLE_PRESENCE_FIXED;
    rle_result_set_argv(argv);
    rle_thread_set_segment(thread);
    rle_thread_begin(thread);
    rle_signals_init();
    return true;
}

/**
 * The same at the program's first instruction, put there by the launcher.
 *
 * @param stack  as the kernel made it: argc, argv, NULL, envp, NULL, auxiliary vector.
 */
int rle_take_over_at_entry(uint64_t *stack)
{
    char **argv = (char **)(stack + 1);
    if (!prepare(argv + stack[0] + 1) || !begin((const char *const *)argv))
        return 0;
    rle_engine.refuse_rseq = true;
    return 1;
}

/**
 * Set everything up for the calling thread, the only one.
 *
 * @return 1: the caller continues in translated code; 0: not asked to, or it cannot be.
 */
int rle_take_over(long argc, char **argv, char **envp)
{
    if (argc < 1 || envp != argv + argc + 1) /* a loader that passes no arguments */
        return 0;
    if (!prepare(envp) || !begin((const char *const *)argv))
        return 0;
    rle_result_uncounted(RLE_UNCOUNTED_RUNTIME, "the dynamic loader, until it runs constructors");
    rle_engine.refuse_rseq = rle_rseq_withdraw();
    return 1;
}
