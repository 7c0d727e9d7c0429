/* Tables of JSON keys bound to struct members: one table a struct serves reading and writing. */
#ifndef RL_FORMAT_FIELDS_H
#define RL_FORMAT_FIELDS_H

#include <jansson.h>
#include <roofline/error.h>
#include <stddef.h>

enum field_type {
    FIELD_STRING,    /* char *, owned; absent = NULL */
    FIELD_WORD,      /* char[size]; absent = "" */
    FIELD_UINT,      /* unsigned; absent = 0 */
    FIELD_U64,       /* uint64_t; absent = 0 */
    FIELD_NUMBER,    /* double; absent = 0 */
    FIELD_BOOL,      /* bool; absent = false */
    FIELD_VALUE,     /* struct rl_value as {"value", "source", "spread"}; absent = unknown */
    FIELD_PRECISION, /* enum rl_precision by name; required */
    FIELD_SOURCE,    /* enum rl_source by name */
    FIELD_KIND,      /* enum rl_kernel_kind by name; required */
    FIELD_OP_CLASS,  /* enum rl_op_class by name; required */
};

struct field {
    const char *key;
    enum field_type type;
    size_t offset;
    size_t size; /* FIELD_WORD only */
};

#define FIELD(structure, key, type, member)                                                        \
    {                                                                                              \
        key, type, offsetof(struct structure, member), 0                                           \
    }
#define FIELD_TEXT(structure, key, member)                                                         \
    {                                                                                              \
        key, FIELD_WORD, offsetof(struct structure, member), sizeof((struct structure *)0)->member \
    }
#define N_FIELDS(table) (sizeof(table) / sizeof((table)[0]))

/* Where in which file we are, for error texts. */
struct place {
    const char *file;
    char path[128]; /* "compute[3]"; empty at the top */
};

/**
 * Read `object` into the struct at `base`, which must be zeroed. Keys that were read are removed
 * from `object`; what is left is unknown to this version.
 */
enum rl_status read_fields(json_t *object, const struct field *fields, size_t n, void *base,
                           const struct place *place, struct rl_error *err);

/** Add known members to `object`; unknown, zero or empty ones are left out (bools when false, too).
 */
enum rl_status write_fields(json_t *object, const struct field *fields, size_t n, const void *base);

/** Compact text of an object, NULL when it is empty. @return RL_OK or RL_ENOMEM. */
enum rl_status keep_extra(const json_t *object, char **ret_extra, struct rl_error *err);

/** Put the members of a text made by keep_extra back into `object`, without replacing any. */
void restore_extra(json_t *object, const char *extra);

/** Fail with "file: at path: message". */
enum rl_status fail_at(const struct place *place, const char *key, const char *message,
                       struct rl_error *err);

/** The array under `key`, removed from `object` later by the caller; NULL if absent. */
enum rl_status get_array(json_t *object, const char *key, const struct place *place,
                         json_t **ret_array, struct rl_error *err);

/** The place of element i of an array under `key`. */
struct place place_of(const struct place *outer, const char *key, size_t index);

/** Reads one element of a list into the record or kernel at `target`. */
typedef enum rl_status read_item(json_t *item, void *target, const struct place *place,
                                 struct rl_error *err);

/** Read each element of the list under `key`, if there is one, then remove the list. */
enum rl_status read_list(json_t *object, const char *key, read_item *read, void *target,
                         const struct place *place, struct rl_error *err);

/** A text as JSON, whatever its bytes: those that are no UTF-8 are spelled \xNN. */
json_t *text_json(const char *text);

/** A number as JSON: an integer when it is one, so that counts stay exact. */
json_t *number_json(double value);

#endif
