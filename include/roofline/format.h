/* Records on disk: JSON, UTF-8, SI base units (docs/format/, data/schema/).
 *
 * Reading is total: a truncated, foreign or hostile file gives RL_EDATA with a text that names the
 * file, the key and the line where known. Keys this version does not know are kept and written
 * back; an unknown major schema version is refused by name. Writing is atomic: a temporary file is
 * renamed over the target. */
#ifndef ROOFLINE_FORMAT_H
#define ROOFLINE_FORMAT_H

#include <roofline/error.h>
#include <roofline/machine.h>
#include <roofline/profile.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Read a machine record.
 * @param path         "-" reads standard input.
 * @param ret_machine  release with rl_machine_release; written on success only.
 * @return RL_OK; RL_ESYS (cannot open or read); RL_EDATA (not such a record); RL_ENOMEM.
 */
enum rl_status rl_machine_read(const char *path, struct rl_machine *ret_machine,
                               struct rl_error *err);
/** @param path  NULL or "-" writes to standard output. */
enum rl_status rl_machine_write(const char *path, const struct rl_machine *machine,
                                struct rl_error *err);
enum rl_status rl_profile_read(const char *path, struct rl_profile *ret_profile,
                               struct rl_error *err);
enum rl_status rl_profile_write(const char *path, const struct rl_profile *profile,
                                struct rl_error *err);

/** From and to memory; `name` is what error texts call the source. `ret_text`: free() it. */
enum rl_status rl_machine_parse(const char *text, size_t size, const char *name,
                                struct rl_machine *ret_machine, struct rl_error *err);
enum rl_status rl_machine_print(const struct rl_machine *machine, char **ret_text,
                                struct rl_error *err);
enum rl_status rl_profile_parse(const char *text, size_t size, const char *name,
                                struct rl_profile *ret_profile, struct rl_error *err);
enum rl_status rl_profile_print(const struct rl_profile *profile, char **ret_text,
                                struct rl_error *err);

enum rl_record_kind { RL_RECORD_MACHINE, RL_RECORD_PROFILE, RL_RECORD_REPORT };

/** What kind of record a file holds. @return RL_OK; RL_EDATA; RL_ESYS. */
enum rl_status rl_record_kind(const char *path, enum rl_record_kind *ret_kind,
                              struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
