#include "cpu/cpu_internal.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static void native_leaf(void *context, uint32_t leaf, uint32_t subleaf, uint32_t ret_abcd[4])
{
    (void)context;
    __cpuid_count(leaf, subleaf, ret_abcd[0], ret_abcd[1], ret_abcd[2], ret_abcd[3]);
}

static uint64_t native_xcr0(void *context)
{
    (void)context;
    uint32_t low;
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Tile registers are saved only for processes that asked (Linux x86 uapi, prctl.h). */
static bool native_permit(void *context, unsigned component)
{
    enum { REQUEST_XCOMP_PERMISSION = 0x1023 };
    (void)context;
    return syscall(SYS_arch_prctl, REQUEST_XCOMP_PERMISSION, (unsigned long)component) == 0;
}

struct rl_cpuid rl_cpuid_native(void)
{
    return (struct rl_cpuid){.leaf = native_leaf, .xcr0 = native_xcr0, .permit = native_permit};
}
#else
struct rl_cpuid rl_cpuid_native(void)
{
    return (struct rl_cpuid){0};
}
#endif
