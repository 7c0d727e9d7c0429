/* As much of JSON Schema as the project's own schemas use; an unknown keyword fails the test.
 * Properties that a schema does not name count as violations here, so that no key is written
 * without being specified. */
#ifndef TESTS_SUPPORT_JSON_SCHEMA_H
#define TESTS_SUPPORT_JSON_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* First violation as text in `why`; true when the instance is valid. */
static bool schema_holds(const json_t *root, const json_t *schema, const json_t *instance,
                         const char *path, char *why, size_t size);

static bool type_holds(const char *type, const json_t *instance)
{
    if (strcmp(type, "object") == 0)
        return json_is_object(instance);
    if (strcmp(type, "array") == 0)
        return json_is_array(instance);
    if (strcmp(type, "string") == 0)
        return json_is_string(instance);
    if (strcmp(type, "integer") == 0)
        return json_is_integer(instance);
    if (strcmp(type, "number") == 0)
        return json_is_number(instance);
    return strcmp(type, "boolean") == 0 && json_is_boolean(instance);
}

static bool object_holds(const json_t *root, const json_t *schema, const json_t *instance,
                         const char *path, char *why, size_t size)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(schema, "required"), i, name)
    {
        if (!json_object_get(instance, json_string_value(name))) {
            snprintf(why, size, "%s lacks %s", path, json_string_value(name));
            return false;
        }
    }
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)instance, key, value)
    {
        char inner[256];
        const json_t *rule = json_object_get(properties, key);
        snprintf(inner, sizeof inner, "%.180s.%.60s", path, key);
        if (!rule && !others) {
            snprintf(why, size, "%s is in no schema", inner);
            return false;
        }
        if (!schema_holds(root, rule ? rule : others, value, inner, why, size))
            return false;
    }
    return true;
}

static bool schema_holds(const json_t *root, const json_t *schema, const json_t *instance,
                         const char *path, char *why, size_t size)
{
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    if (ref) {
        const json_t *definition =
            json_object_get(json_object_get(root, "$defs"), ref + strlen("#/$defs/"));
        return schema_holds(root, definition, instance, path, why, size);
    }
    snprintf(why, size, "%s has the wrong type or value", path);
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (type && !type_holds(type, instance))
        return false;
    const json_t *constant = json_object_get(schema, "const");
    if (constant && !json_equal(constant, instance))
        return false;
    const json_t *minimum = json_object_get(schema, "minimum");
    if (minimum && json_number_value(instance) < json_number_value(minimum))
        return false;
    const json_t *options = json_object_get(schema, "enum");
    bool found = !options;
    size_t i;
    json_t *item;
    json_array_foreach(options, i, item) found = found || json_equal(item, instance);
    if (!found || (!type && !constant && !options))
        return false;
    json_array_foreach(json_is_array(instance) ? instance : NULL, i, item)
    {
        char inner[256];
        snprintf(inner, sizeof inner, "%.200s[%zu]", path, i);
        if (!schema_holds(root, json_object_get(schema, "items"), item, inner, why, size))
            return false;
    }
    return !json_is_object(instance) || object_holds(root, schema, instance, path, why, size);
}

#endif
