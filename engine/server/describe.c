/* Descriptions of what the library holds. */

#include "engine/server/describe.h"

void
sundog_describe_copy(JsonObject *object, const char *key, JsonObject *from, const char *from_key)
{
    JsonNode *node = from ? json_object_get_member(from, from_key) : NULL;
    if (node)
        json_object_set_member(object, key, json_node_copy(node));
    else
        json_object_set_null_member(object, key);
}

void
sundog_describe_text(JsonObject *object, const char *key, const char *text)
{
    if (text)
        json_object_set_string_member(object, key, text);
    else
        json_object_set_null_member(object, key);
}

JsonObject *
sundog_describe_entry(const SundogLibraryEntry *entry)
{
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "name", entry->name);
    json_object_set_int_member(object, "bytes", (gint64)entry->n_bytes);
    json_object_set_boolean_member(object, "damaged", entry->damaged);
    sundog_describe_text(object, "problem", entry->problem);
    return object;
}
