/* A handler may jump out of a call that waits, which then does not come back to put the thread's
 * sampling right. Each calls the one behind it and changes nothing when sampling is off. */
#include "sample/preload/interpose.h"
#include "sample/preload/timer.h"

#include <stddef.h>

/* setjmp.h gives longjmp another name under _FORTIFY_SOURCE. */
struct __jmp_buf_tag;

#define JUMP(name)                                                                                 \
    static void (*next_##name)(struct __jmp_buf_tag *, int) __attribute__((noreturn));             \
    FIND_EARLY(next_##name, name, NULL)                                                            \
    EXPORT __attribute__((noreturn)) void name(struct __jmp_buf_tag *to, int value);               \
    EXPORT __attribute__((noreturn)) void name(struct __jmp_buf_tag *to, int value)                \
    {                                                                                              \
        preload_find_next(&next_##name, #name);                                                    \
        timer_wait_left((function)next_##name);                                                    \
        next_##name(to, value);                                                                    \
    }

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
