#include "format/fields.h"

#include "base/error.h"
#include "base/utf8.h"

#include <math.h>
#include <roofline/machine.h>
#include <roofline/profile.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* No count, rate or time of a machine, nor its inverse, comes near. */
#define GREATEST_VALUE 1e30
#define LEAST_VALUE    1e-30

enum rl_status fail_at(const struct place *place, const char *key, const char *message,
                       struct rl_error *err)
{
    const char *dot = place->path[0] && key[0] ? "." : "";
    return rl_fail(err, RL_EDATA, "%s: %s%s%s: %s", place->file, place->path, dot, key, message);
}

struct place place_of(const struct place *outer, const char *key, size_t index)
{
    struct place inner = {.file = outer->file};
    snprintf(inner.path, sizeof inner.path, "%.80s%s%.24s[%zu]", outer->path,
             outer->path[0] ? "." : "", key, index);
    return inner;
}

json_t *number_json(double value)
{
    const double exact_limit = 0x1p53;
    if (value == floor(value) && fabs(value) <= exact_limit)
        return json_integer((json_int_t)value);
    return json_real(value);
}

static enum rl_status read_unsigned(const json_t *json, uint64_t max, uint64_t *ret_value,
                                    const struct field *f, const struct place *place,
                                    struct rl_error *err)
{
    double value = json_is_number(json) ? json_number_value(json) : -1;
    if (!(value >= 0) || value != floor(value) || value > (double)max)
        return fail_at(place, f->key, "must be a whole number, not negative", err);
    *ret_value = json_is_integer(json) ? (uint64_t)json_integer_value(json) : (uint64_t)value;
    return RL_OK;
}

/* Sums, ratios and squares of such numbers are finite, and none becomes zero. */
static bool is_conceivable(double x)
{
    return x == 0 || (x > LEAST_VALUE && x < GREATEST_VALUE);
}

static enum rl_status read_number(const json_t *json, double *ret_value, const struct field *f,
                                  const struct place *place, struct rl_error *err)
{
    double value = json_number_value(json);
    if (!json_is_number(json))
        return fail_at(place, f->key, "must be a number", err);
    if (value < 0)
        return fail_at(place, f->key, "must not be negative", err);
    if (!is_conceivable(value))
        return fail_at(place, f->key, "is beyond anything that could be measured", err);
    *ret_value = value;
    return RL_OK;
}

static enum rl_status read_value(const json_t *json, struct rl_value *ret_value,
                                 const struct field *f, const struct place *place,
                                 struct rl_error *err)
{
    json_t *value = json_object_get(json, "value");
    json_t *source = json_object_get(json, "source");
    json_t *spread = json_object_get(json, "spread");
    if (!json_is_number(value) || !json_is_string(source) || (spread && !json_is_number(spread)))
        return fail_at(place, f->key, "must be {\"value\": number, \"source\": word}", err);
    if (json_number_value(value) < 0 || (spread && json_number_value(spread) < 0))
        return fail_at(place, f->key, "must not be negative", err);
    if (!is_conceivable(json_number_value(value)) || json_number_value(spread) > GREATEST_VALUE)
        return fail_at(place, f->key, "is beyond anything that could be measured", err);
    enum rl_source known = rl_source_from_name(json_string_value(source));
    if (known == RL_SOURCE_NONE)
        return fail_at(place, f->key, "names a source that is not known", err);
    *ret_value = rl_value(json_number_value(value), known, spread ? json_number_value(spread) : 0);
    return RL_OK;
}

/* Enumerations are written by name. */
static enum rl_status read_name(const json_t *json, void *slot, const struct field *f,
                                const struct place *place, struct rl_error *err)
{
    const char *name = json_string_value(json);
    bool known = false;
    if (f->type == FIELD_PRECISION)
        known = rl_precision_from_name(name, slot);
    else if (f->type == FIELD_KIND)
        known = rl_kind_from_name(name, slot);
    else if (f->type == FIELD_OP_CLASS)
        known = rl_op_class_from_name(name, slot);
    else
        known = (*(enum rl_source *)slot = rl_source_from_name(name)) != RL_SOURCE_NONE;
    return known ? RL_OK : fail_at(place, f->key, "is a word this version does not know", err);
}

static enum rl_status read_text(const json_t *json, void *slot, const struct field *f,
                                const struct place *place, struct rl_error *err)
{
    const char *text = json_string_value(json);
    if (!text)
        return fail_at(place, f->key, "must be a text", err);
    if (f->type == FIELD_STRING)
        return rl_string_set(slot, text, err);
    if (strlen(text) >= f->size)
        return fail_at(place, f->key, "is too long a text", err);
    strcpy(slot, text);
    return RL_OK;
}

static enum rl_status read_field(const json_t *json, void *slot, const struct field *f,
                                 const struct place *place, struct rl_error *err)
{
    uint64_t whole;
    switch (f->type) {
    case FIELD_STRING:
    case FIELD_WORD:
        return read_text(json, slot, f, place, err);
    case FIELD_UINT:
        RL_TRY(read_unsigned(json, UINT32_MAX, &whole, f, place, err));
        *(unsigned *)slot = (unsigned)whole;
        return RL_OK;
    case FIELD_U64:
        return read_unsigned(json, INT64_MAX, slot, f, place, err);
    case FIELD_NUMBER:
        return read_number(json, slot, f, place, err);
    case FIELD_BOOL:
        if (!json_is_boolean(json))
            return fail_at(place, f->key, "must be true or false", err);
        *(bool *)slot = json_is_true(json);
        return RL_OK;
    case FIELD_VALUE:
        return read_value(json, slot, f, place, err);
    default:
        return read_name(json, slot, f, place, err);
    }
}

static bool is_required(enum field_type type)
{
    return type == FIELD_PRECISION || type == FIELD_KIND || type == FIELD_OP_CLASS;
}

enum rl_status read_fields(json_t *object, const struct field *fields, size_t n, void *base,
                           const struct place *place, struct rl_error *err)
{
    if (!json_is_object(object))
        return fail_at(place, "", "must be an object", err);
    for (size_t i = 0; i < n; i++) {
        const json_t *json = json_object_get(object, fields[i].key);
        if (!json && is_required(fields[i].type))
            return fail_at(place, fields[i].key, "is missing", err);
        if (!json)
            continue;
        RL_TRY(read_field(json, (char *)base + fields[i].offset, &fields[i], place, err));
        json_object_del(object, fields[i].key);
    }
    return RL_OK;
}

static json_t *value_json(struct rl_value v)
{
    if (!rl_known(v) || !isfinite(v.value))
        return NULL;
    json_t *json = json_object();
    json_object_set_new(json, "value", number_json(v.value));
    json_object_set_new(json, "source", json_string(rl_source_name(v.source)));
    if (v.spread > 0 && isfinite(v.spread))
        json_object_set_new(json, "spread", json_real(v.spread));
    return json;
}

json_t *text_json(const char *text)
{
    json_t *json = json_string(text);
    char *spelled = json ? NULL : rl_utf8_spelled(text);
    if (spelled)
        json = json_string(spelled);
    free(spelled);
    return json;
}

static json_t *text_unless_empty(const char *text)
{
    return text && *text ? text_json(text) : NULL;
}

/* The member as JSON; NULL when there is nothing to write. */
static json_t *field_json(const void *slot, enum field_type type)
{
    switch (type) {
    case FIELD_STRING:
        return text_unless_empty(*(char *const *)slot);
    case FIELD_WORD:
        return text_unless_empty(slot);
    case FIELD_UINT:
        return *(const unsigned *)slot ? json_integer(*(const unsigned *)slot) : NULL;
    case FIELD_U64:
        return *(const uint64_t *)slot ? json_integer((json_int_t) * (const uint64_t *)slot) : NULL;
    case FIELD_NUMBER:
        return *(const double *)slot != 0 && isfinite(*(const double *)slot)
                   ? number_json(*(const double *)slot)
                   : NULL;
    case FIELD_BOOL:
        return *(const bool *)slot ? json_true() : NULL;
    case FIELD_VALUE:
        return value_json(*(const struct rl_value *)slot);
    case FIELD_PRECISION:
        return text_json(rl_precision_name(*(const enum rl_precision *)slot));
    case FIELD_SOURCE:
        return *(const enum rl_source *)slot
                   ? json_string(rl_source_name(*(const enum rl_source *)slot))
                   : NULL;
    case FIELD_KIND:
        return text_json(rl_kind_name(*(const enum rl_kernel_kind *)slot));
    case FIELD_OP_CLASS:
        return text_json(rl_op_class_name(*(const enum rl_op_class *)slot));
    }
    return NULL;
}

enum rl_status write_fields(json_t *object, const struct field *fields, size_t n, const void *base)
{
    for (size_t i = 0; i < n; i++) {
        json_t *json = field_json((const char *)base + fields[i].offset, fields[i].type);
        if (json && json_object_set_new(object, fields[i].key, json) != 0)
            return RL_ENOMEM;
    }
    return RL_OK;
}

enum rl_status keep_extra(const json_t *object, char **ret_extra, struct rl_error *err)
{
    *ret_extra = NULL;
    if (json_object_size(object) == 0)
        return RL_OK;
    *ret_extra = json_dumps(object, JSON_COMPACT);
    return *ret_extra ? RL_OK : rl_fail(err, RL_ENOMEM, "no memory for unknown keys");
}

/* Members that `object` lacks are taken from `kept`, nested objects included. */
static void add_missing(json_t *object, json_t *kept)
{
    const char *key;
    json_t *value;
    json_object_foreach(kept, key, value)
    {
        json_t *mine = json_object_get(object, key);
        if (!mine)
            json_object_set(object, key, value);
        else if (json_is_object(mine) && json_is_object(value))
            add_missing(mine, value);
    }
}

void restore_extra(json_t *object, const char *extra)
{
    json_t *kept = extra ? json_loads(extra, 0, NULL) : NULL;
    if (kept)
        add_missing(object, kept);
    json_decref(kept);
}

enum rl_status get_array(json_t *object, const char *key, const struct place *place,
                         json_t **ret_array, struct rl_error *err)
{
    json_t *array = json_object_get(object, key);
    if (array && !json_is_array(array))
        return fail_at(place, key, "must be a list", err);
    *ret_array = array;
    return RL_OK;
}

enum rl_status read_list(json_t *object, const char *key, read_item *read, void *target,
                         const struct place *place, struct rl_error *err)
{
    json_t *array;
    RL_TRY(get_array(object, key, place, &array, err));
    size_t i;
    json_t *item;
    json_array_foreach(array, i, item)
    {
        struct place here = place_of(place, key, i);
        RL_TRY(read(item, target, &here, err));
    }
    json_object_del(object, key);
    return RL_OK;
}
