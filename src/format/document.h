/* Loading and dumping whole JSON documents with a schema key. */
#ifndef RL_FORMAT_DOCUMENT_H
#define RL_FORMAT_DOCUMENT_H

#include <jansson.h>
#include <roofline/error.h>
#include <roofline/machine.h>

#include "format/fields.h"

/**
 * Parse text that must be an object whose "schema" is `schema`; the key is removed.
 * A known name with another major version is refused by name.
 */
enum rl_status load_document(const char *text, size_t size, const char *file, const char *schema,
                             json_t **ret_root, struct rl_error *err);

/** Indented text with a newline at the end; takes the reference to `root`. `ret_text`: free() it.
 */
enum rl_status dump_document(json_t *root, char **ret_text, struct rl_error *err);

enum rl_status read_missing(json_t *object, struct rl_missing_list *list, const struct place *place,
                            struct rl_error *err);
enum rl_status write_missing(json_t *object, const struct rl_missing_list *list);

/** Largest record accepted, bytes. */
enum { MAX_RECORD_BYTES = 256 << 20 };

#endif
