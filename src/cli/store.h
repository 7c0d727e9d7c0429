/* Where records live: machine records under ${XDG_DATA_HOME:-~/.local/share}/roofline/, by machine
 * key. */
#ifndef RL_CLI_STORE_H
#define RL_CLI_STORE_H

#include <roofline/error.h>
#include <roofline/machine.h>

/**
 * Folder of cached machine records.
 * @param ret_path  free() it. Not created.
 * @return RL_OK; RL_ESYS when neither XDG_DATA_HOME nor HOME is set.
 */
enum rl_status rl_store_folder(char **ret_path, struct rl_error *err);

/** Path of the cached record of the machine with this key; free() it. */
enum rl_status rl_store_path(const char *key, char **ret_path, struct rl_error *err);

/** Path of the kept self-test of hardware counters, beside that record; free() it. */
enum rl_status rl_store_counters_path(const char *key, char **ret_path, struct rl_error *err);

/**
 * Load the cached record for `key`.
 * @return RL_OK; RL_ENODATA when there is none; RL_EDATA when it cannot be read.
 */
enum rl_status rl_store_load(const char *key, struct rl_machine *ret_machine, struct rl_error *err);

/**
 * Load the cached record of the whole that `part` is a part of, see rl_machine_is_part: of the
 * most cores if there are several.
 * @return RL_OK; RL_ENODATA when there is none.
 */
enum rl_status rl_store_load_whole(const struct rl_machine *part, struct rl_machine *ret_machine,
                                   struct rl_error *err);

/** Save under machine->key, creating the folder. */
enum rl_status rl_store_save(const struct rl_machine *machine, struct rl_error *err);

#endif
