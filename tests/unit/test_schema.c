/* Every key that is written stands in the schema and in docs/format, and the other way round. */
#include "../support/cmocka_all.h"
#include "../support/json_schema.h"

#include "base/file.h"

#include <roofline/format.h>
#include <stdlib.h>

static json_t *load_schema(const char *name)
{
    char path[512];
    json_error_t problem;
    snprintf(path, sizeof path, SOURCE_DIR "/data/schema/%s.schema.json", name);
    json_t *schema = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
    if (!schema)
        fail_msg("%s:%d: %s", path, problem.line, problem.text);
    return schema;
}

/* An instance with every property the schema names, so that nothing is left out by accident. */
static json_t *full_instance(const json_t *root, const json_t *schema)
{
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    if (ref)
        return full_instance(
            root, json_object_get(json_object_get(root, "$defs"), ref + strlen("#/$defs/")));
    const json_t *constant = json_object_get(schema, "const");
    const json_t *options = json_object_get(schema, "enum");
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (constant)
        return json_deep_copy(constant);
    if (options)
        return json_deep_copy(json_array_get(options, 0));
    if (strcmp(type, "integer") == 0)
        return json_integer(7);
    if (strcmp(type, "number") == 0)
        return json_real(0.5);
    if (strcmp(type, "boolean") == 0)
        return json_true();
    if (strcmp(type, "string") == 0)
        return json_string("text");
    if (strcmp(type, "array") == 0)
        return json_pack("[o]", full_instance(root, json_object_get(schema, "items")));
    json_t *object = json_object();
    const char *key;
    json_t *rule;
    json_object_foreach(json_object_get(schema, "properties"), key, rule)
        json_object_set_new(object, key, full_instance(root, rule));
    if (json_object_get(schema, "additionalProperties"))
        json_object_set_new(object, "key", json_string("text"));
    return object;
}

typedef enum rl_status round_trip(const char *text, size_t size, char **ret_text);

static enum rl_status machine_round_trip(const char *text, size_t size, char **ret_text)
{
    struct rl_machine m;
    struct rl_error err = {0};
    enum rl_status status = rl_machine_parse(text, size, "full", &m, &err);
    if (status != RL_OK)
        fail_msg("%s", err.text);
    assert_null(m.extra); /* a key of the schema that the reader does not know would be here */
    assert_null(m.compute[0].extra);
    assert_null(m.memory[0].extra);
    assert_null(m.latency[0].extra);
    status = rl_machine_print(&m, ret_text, &err);
    rl_machine_release(&m);
    return status;
}

static enum rl_status profile_round_trip(const char *text, size_t size, char **ret_text)
{
    struct rl_profile p;
    struct rl_error err = {0};
    enum rl_status status = rl_profile_parse(text, size, "full", &p, &err);
    if (status != RL_OK)
        fail_msg("%s", err.text);
    assert_null(p.extra);
    assert_null(p.kernel[0].extra);
    status = rl_profile_print(&p, ret_text, &err);
    rl_profile_release(&p);
    return status;
}

static void check_record(const char *name, round_trip *trip)
{
    json_t *schema = load_schema(name);
    json_t *full = full_instance(schema, schema);
    char *text = json_dumps(full, 0), *out, why[512];
    assert_int_equal(trip(text, strlen(text), &out), RL_OK);
    json_t *back = json_loads(out, 0, NULL);
    if (!schema_holds(schema, schema, back, name, why, sizeof why))
        fail_msg("%s", why);
    assert_true(json_equal(full, back)); /* all that was read is written again */
    json_decref(schema);
    json_decref(full);
    json_decref(back);
    free(text);
    free(out);
}

static void machine_records_and_their_schema_agree(void **state)
{
    (void)state;
    check_record("machine", machine_round_trip);
}

static void profile_records_and_their_schema_agree(void **state)
{
    (void)state;
    check_record("profile", profile_round_trip);
}

static void check_keys(const char *page, const json_t *schema)
{
    const char *key;
    json_t *rule;
    json_object_foreach(json_object_get(schema, "properties"), key, rule)
    {
        char cell[128];
        snprintf(cell, sizeof cell, "| `%s` |", key);
        if (!strstr(page, cell))
            fail_msg("docs/format lacks %s", cell);
    }
}

static void every_key_of_a_schema_is_documented(void **state)
{
    (void)state;
    static const char *const names[] = {"machine", "profile"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512], *page;
        json_t *schema = load_schema(names[i]);
        snprintf(path, sizeof path, SOURCE_DIR "/docs/format/%s.md", names[i]);
        assert_int_equal(rl_file_read(path, 1 << 20, &page, NULL, NULL), RL_OK);
        check_keys(page, schema);
        const char *name;
        json_t *definition;
        json_object_foreach(json_object_get(schema, "$defs"), name, definition)
        {
            if (strcmp(name, "value") != 0)
                check_keys(page, definition);
        }
        free(page);
        json_decref(schema);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_records_and_their_schema_agree),
        cmocka_unit_test(profile_records_and_their_schema_agree),
        cmocka_unit_test(every_key_of_a_schema_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
