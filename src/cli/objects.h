/* Where the objects lie that are preloaded into profiled programs: in the library folder when
 * installed, beside their modules in a build tree. */
#ifndef RL_CLI_OBJECTS_H
#define RL_CLI_OBJECTS_H

/**
 * Path of an object, found from where this program itself lies.
 * @param name  file name, e.g. "librooflinesample.so".
 * @return NULL if it is nowhere; else free() it.
 */
char *rl_object_path(const char *name);

#endif
