#include "format/document.h"

#include "base/error.h"
#include "base/file.h"
#include "format/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const schemas[] = {
    [RL_RECORD_MACHINE] = "roofline-machine/1",
    [RL_RECORD_PROFILE] = "roofline-profile/1",
    [RL_RECORD_REPORT] = "roofline-report/1",
};

static enum rl_status check_schema(const json_t *root, const char *file, const char *schema,
                                   struct rl_error *err)
{
    const char *found = json_string_value(json_object_get(root, "schema"));
    if (!found)
        return rl_fail(err, RL_EDATA,
                       "%s: is JSON but no roofline record: it has no \"schema\" key", file);
    if (strcmp(found, schema) == 0)
        return RL_OK;
    size_t stem = strcspn(schema, "/") + 1;
    if (strncmp(found, schema, stem) == 0)
        return rl_fail(err, RL_EDATA,
                       "%s: schema \"%.60s\" is of another version; this program reads \"%s\"",
                       file, found, schema);
    return rl_fail(err, RL_EDATA, "%s: schema is \"%.60s\" where \"%s\" is needed", file, found,
                   schema);
}

static bool is_blank(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!strchr(" \t\r\n", text[i]) || !text[i])
            return false;
    return true;
}

/* The parser names a flag of its own for what it was not told to let through. */
static enum rl_status fail_parse(const char *file, const json_error_t *problem,
                                 struct rl_error *err)
{
    enum json_error_code code = json_error_code(problem);
    bool is_null = code == json_error_null_character || code == json_error_null_byte_in_key;
    return rl_fail(err, RL_EDATA, "%s: line %d: no JSON: %s", file, problem->line,
                   is_null ? "a text holds a NUL character" : problem->text);
}

enum rl_status load_document(const char *text, size_t size, const char *file, const char *schema,
                             json_t **ret_root, struct rl_error *err)
{
    json_error_t problem;
    if (is_blank(text, size))
        return rl_fail(err, RL_EDATA, "%s: is empty", file);
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        return fail_parse(file, &problem, err);
    enum rl_status status = check_schema(root, file, schema, err);
    if (status != RL_OK) {
        json_decref(root);
        return status;
    }
    json_object_del(root, "schema");
    *ret_root = root;
    return RL_OK;
}

enum rl_status dump_document(json_t *root, char **ret_text, struct rl_error *err)
{
    enum { DIGITS = 12 };
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS));
    json_decref(root);
    char *line = text ? realloc(text, strlen(text) + 2) : NULL;
    if (!line) {
        free(text);
        return rl_fail(err, RL_ENOMEM, "no memory for a record's text");
    }
    strcat(line, "\n");
    *ret_text = line;
    return RL_OK;
}

enum rl_status read_missing(json_t *object, struct rl_missing_list *list, const struct place *place,
                            struct rl_error *err)
{
    json_t *array;
    RL_TRY(get_array(object, "missing", place, &array, err));
    size_t i;
    json_t *item;
    json_array_foreach(array, i, item)
    {
        const char *what = json_string_value(json_object_get(item, "what"));
        const char *why = json_string_value(json_object_get(item, "why"));
        struct place here = place_of(place, "missing", i);
        if (!what || !why)
            return fail_at(&here, "", "must hold \"what\" and \"why\"", err);
        RL_TRY(rl_missing_add(list, what, why, err));
    }
    json_object_del(object, "missing");
    return RL_OK;
}

enum rl_status write_missing(json_t *object, const struct rl_missing_list *list)
{
    if (list->n == 0)
        return RL_OK;
    json_t *array = json_array();
    for (size_t i = 0; i < list->n; i++)
        json_array_append_new(array, json_pack("{s:o, s:o}", "what", text_json(list->item[i].what),
                                               "why", text_json(list->item[i].why)));
    return json_object_set_new(object, "missing", array) == 0 ? RL_OK : RL_ENOMEM;
}

static bool find_kind(const char *schema, enum rl_record_kind *ret_kind)
{
    for (unsigned i = 0; schema && i < sizeof schemas / sizeof schemas[0]; i++)
        if (strncmp(schema, schemas[i], strcspn(schemas[i], "/") + 1) == 0) {
            *ret_kind = (enum rl_record_kind)i;
            return true;
        }
    return false;
}

/* Records that this program writes begin with their schema: of a large one nothing else need be
 * looked at. Whoever reads it in full finds what else may be wrong. */
static bool begins_with_kind(const char *text, enum rl_record_kind *ret_kind)
{
    char schema[64];
    return sscanf(text, " { \"schema\" : \"%63[^\"]\"", schema) == 1 && find_kind(schema, ret_kind);
}

static enum rl_status parse_kind(const char *text, size_t size, const char *path,
                                 enum rl_record_kind *ret_kind, struct rl_error *err)
{
    json_error_t problem;
    json_t *root = json_loadb(text, size, 0, &problem);
    const char *found = json_string_value(json_object_get(root, "schema"));
    enum rl_status status = RL_OK;
    if (!root)
        status = fail_parse(path, &problem, err);
    else if (!find_kind(found, ret_kind))
        status = rl_fail(err, RL_EDATA, "%s: is no roofline record: its \"schema\" is %s%.60s",
                         path, found ? "" : "missing", found ? found : "");
    json_decref(root);
    return status;
}

enum rl_status rl_record_kind(const char *path, enum rl_record_kind *ret_kind, struct rl_error *err)
{
    char *text;
    size_t size;
    RL_TRY(rl_file_read(path, MAX_RECORD_BYTES, &text, &size, err));
    enum rl_status status =
        begins_with_kind(text, ret_kind) ? RL_OK : parse_kind(text, size, path, ret_kind, err);
    free(text);
    return status;
}
