/* Inside the preloaded object: standing in front of functions of libc. */
#ifndef RL_SAMPLE_PRELOAD_INTERPOSE_H
#define RL_SAMPLE_PRELOAD_INTERPOSE_H

#define EXPORT __attribute__((visibility("default")))

/** Fill the pointer to a function that `to` points to with the next definition of it, once. Ends
 * the program if there is none. */
void preload_find_next(void *to, const char *name);
/** The same; of several forms of it that of this version, where there is one. */
void preload_find_form(void *to, const char *name, const char *version);
/** The same before main, for looking them up is nothing that signal handlers may do; where there is
 * none that shows when it is called. `version` NULL: any. */
void preload_find_early(void *to, const char *name, const char *version);

/** Fill the static pointer `next` of a function that stands in front of another one early. */
#define FIND_EARLY(next, name, version)                                                            \
    __attribute__((constructor)) static void find_##name(void)                                     \
    {                                                                                              \
        preload_find_early(&next, #name, version);                                                 \
    }

#endif
