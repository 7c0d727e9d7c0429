/* Inside the preloaded object: standing in front of calls of libc that wait and that a signal with
 * a handler ends. */
#ifndef RL_SAMPLE_PRELOAD_WAIT_H
#define RL_SAMPLE_PRELOAD_WAIT_H

#include "sample/preload/interpose.h"
#include "sample/preload/timer.h"

/** Define `name`, which calls the next function of that name, our signal kept back meanwhile if
 * `condition` holds. `parameters` and `arguments` are lists in brackets. */
#define WAIT_IF(condition, type, name, parameters, arguments)                                      \
    static type(*next_##name) parameters;                                                          \
    FIND_EARLY(next_##name, name, NULL)                                                            \
    EXPORT type name parameters                                                                    \
    {                                                                                              \
        preload_find_next(&next_##name, #name);                                                    \
        if (!(condition))                                                                          \
            return next_##name arguments;                                                          \
        timer_mask();                                                                              \
        type result = next_##name arguments;                                                       \
        timer_unmask((function)next_##name);                                                       \
        return result;                                                                             \
    }

#endif
