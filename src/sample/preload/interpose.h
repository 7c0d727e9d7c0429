/* Inside the preloaded object: standing in front of functions of libc. */
#ifndef RL_SAMPLE_PRELOAD_INTERPOSE_H
#define RL_SAMPLE_PRELOAD_INTERPOSE_H

#define EXPORT __attribute__((visibility("default")))

/** Fill the pointer to a function that `to` points to with the next definition of it, once. Ends
 * the program if there is none. */
void preload_find_next(void *to, const char *name);
/** The same; of several forms of it that of this version, where there is one. */
void preload_find_form(void *to, const char *name, const char *version);

#endif
