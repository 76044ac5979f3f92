#pragma once

/* What the files of the schema compiler share: see schema.h. */

#include "engine/text/constraint/schema.h"

/* In place of the state behind a piece, with the error set. */
#define SUNDOG_SCHEMA_FAILED UINT32_MAX

typedef struct {
    SundogJsonGrammar *json;
    SundogAutomatonBuilder *builder;
    JsonNode *root;
    GHashTable *rules; /* a schema's node that a $ref leads to -> its rule + 1 */
    JsonNode *any;     /* the schema true */
    GPtrArray *made;   /* nodes of merged schemas, which live as long as the compiler */
    GString *path;     /* where in the document: "#/properties/a" */
    unsigned depth;
    unsigned n_schemas;
    GError **error;
} SundogSchemaCompiler;

/* Sets the error, unless there is one: the keyword, the place and the reason. Returns FAILED. */
uint32_t sundog_schema_refuse(SundogSchemaCompiler *compiler, const char *keyword,
                              const char *format, ...) G_GNUC_PRINTF(3, 4);

/* A value of the schema; the state behind it. */
uint32_t sundog_schema_add_value(SundogSchemaCompiler *compiler, JsonNode *schema, uint32_t from);
/* The same under a key of the present place. */
uint32_t sundog_schema_add_value_at(SundogSchemaCompiler *compiler, JsonNode *schema,
                                    const char *key, uint32_t from);

/* By type; the object has neither $ref nor combinations any more. */
uint32_t sundog_schema_add_object(SundogSchemaCompiler *compiler, JsonObject *schema,
                                  uint32_t from);
uint32_t sundog_schema_add_array(SundogSchemaCompiler *compiler, JsonObject *schema, uint32_t from);
uint32_t sundog_schema_add_string(SundogSchemaCompiler *compiler, JsonObject *schema,
                                  uint32_t from);
uint32_t sundog_schema_add_number(SundogSchemaCompiler *compiler, JsonObject *schema, bool integer,
                                  uint32_t from);

/* The schema at a reference, or NULL with an error. */
JsonNode *sundog_schema_find(SundogSchemaCompiler *compiler, const char *reference);
/* The schema as one object without $ref and allOf, borrowed; NULL with an error. */
JsonObject *sundog_schema_flatten(SundogSchemaCompiler *compiler, JsonNode *schema);
/* One object for both schemas at once, borrowed; `skip`: a key of the first that is left out. */
JsonObject *sundog_schema_merge(SundogSchemaCompiler *compiler, JsonObject *first, const char *skip,
                                JsonNode *second);
/* Whether something stands beside this key that a value could violate. */
bool sundog_schema_has_others(JsonObject *schema, const char *key);
/* Whether no value can be of both. False where that is not seen. */
bool sundog_schema_excludes(SundogSchemaCompiler *compiler, JsonNode *first, JsonNode *second);
/* Whether two values are the same to JSON: numbers by value, members in any order. */
bool sundog_schema_is_same(JsonNode *first, JsonNode *second);

/* Reads a count; `otherwise` where it is absent. False with an error where it is none. */
bool sundog_schema_get_count(SundogSchemaCompiler *compiler, JsonObject *schema,
                             const char *keyword, uint32_t otherwise, uint32_t *count);
