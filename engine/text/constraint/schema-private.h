#pragma once

/* What the files of the schema compiler share: see schema.h. */

#include "engine/text/constraint/schema.h"
#include "engine/text/constraint/text-set.h"

/* Keywords of our own, for what `not` leaves: lists of values and of expressions that a value may not be. */
#define SUNDOG_SCHEMA_EXCLUDED "\001excluded"
#define SUNDOG_SCHEMA_UNLIKE "\001unlike"

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
    bool
        is_contradiction; /* the error: that no value is left, which is no fault of an alternative */
    GError **error;
} SundogSchemaCompiler;

/* Sets the error, unless there is one: the keyword, the place and the reason. Returns FAILED. */
uint32_t sundog_schema_refuse(SundogSchemaCompiler *compiler, const char *keyword,
                              const char *format, ...) G_GNUC_PRINTF(3, 4);

/* The same where the conditions leave no value: an alternative that is so is left out. */
uint32_t sundog_schema_contradict(SundogSchemaCompiler *compiler, const char *keyword,
                                  const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Whether it failed by a contradiction, which is then forgotten. */
bool sundog_schema_forgive(SundogSchemaCompiler *compiler);

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

/* The texts that a schema takes, of which it has expressions, a format, lengths, values or `not`; the
 * caller's, NULL with an error. */
SundogTextSet *sundog_schema_find_texts(SundogSchemaCompiler *compiler, JsonObject *schema);

/* What an array's items may be. */
typedef struct {
    JsonArray *places; /* schemas of the first items, or NULL */
    JsonNode *rest;    /* of further ones; NULL for any */
    bool is_closed;    /* there are no further ones */
    uint32_t least;
    uint32_t most;
} SundogSchemaItems;

/* Items from a state on, which all lead to `close`; beside them contains or uniqueItems. False with an
 * error. */
bool sundog_schema_add_items(SundogSchemaCompiler *compiler, const SundogSchemaItems *items,
                             uint32_t from, uint32_t close);
bool sundog_schema_add_containing(SundogSchemaCompiler *compiler, JsonObject *schema,
                                  const SundogSchemaItems *items, uint32_t from, uint32_t close);
bool sundog_schema_add_unique(SundogSchemaCompiler *compiler, const SundogSchemaItems *items,
                              uint32_t from, uint32_t close);

/* Further members of objects: their keys, which hold none of the declared names, and their values. */
typedef struct {
    SundogTextSet *keys;
    JsonNode *values;
    const char *place; /* keyword */
} SundogSchemaOthers;

/* Reads what patternProperties, additionalProperties, unevaluatedProperties and propertyNames say of
 * members that are not named; a GArray of SundogSchemaOthers, the caller's. `names`: the declared ones'
 * (char *). NULL with an error. */
GArray *sundog_schema_read_others(SundogSchemaCompiler *compiler, JsonObject *schema,
                                  const GPtrArray *names);
/* What a member's value is held to by patternProperties beside its own schema (NULL: by these alone, or
 * else as further members are); borrowed. NULL with an error. */
JsonNode *sundog_schema_hold_member(SundogSchemaCompiler *compiler, JsonObject *schema,
                                    const char *name, JsonNode *own);

/* The schema at a reference, or NULL with an error. */
JsonNode *sundog_schema_find(SundogSchemaCompiler *compiler, const char *reference);
/* Keeps the node until the compiler is done; gives it back. */
JsonNode *sundog_schema_keep(SundogSchemaCompiler *compiler, JsonNode *node);
/* A copy without two keys, borrowed. */
JsonObject *sundog_schema_copy_without(SundogSchemaCompiler *compiler, JsonObject *schema,
                                       const char *first, const char *second);
/* The schema as one object without $ref and allOf, but for what waits in it for another condition to be
 * resolved; borrowed; NULL with an error. */
JsonObject *sundog_schema_flatten(SundogSchemaCompiler *compiler, JsonNode *schema);
/* One object for both schemas at once, borrowed; `skip`: a key of the first that is left out. */
JsonObject *sundog_schema_merge(SundogSchemaCompiler *compiler, JsonObject *first, const char *skip,
                                JsonNode *second);
/*
 * Whether the schema has a condition that is a choice: if, not, dependencies. Then *rest is the schema
 * without it (borrowed), and the alternatives (JsonNode, borrowed) are what else a value may be. False
 * with an error where the choice cannot be made.
 */
bool sundog_schema_split(SundogSchemaCompiler *compiler, JsonObject *schema, JsonObject **rest,
                         GPtrArray *alternatives);
/* A schema that asks for both; the caller's. */
JsonNode *sundog_schema_require_both(JsonNode *first, JsonNode *second);
/* Whether something stands beside this key that a value could violate. */
bool sundog_schema_has_others(JsonObject *schema, const char *key);
/* The values that enum or const lists; the caller's, NULL where they list none. */
JsonArray *sundog_schema_dup_values(JsonObject *schema);
/* The values that a schema takes as texts of the grammar, each once, where it takes only these; the caller's,
 * else NULL, maybe with an error. */
GPtrArray *sundog_schema_list_values(SundogSchemaCompiler *compiler, JsonObject *schema);
/* A value of enum or const. */
uint32_t sundog_schema_add_listed(SundogSchemaCompiler *compiler, JsonObject *schema,
                                  uint32_t from);
/* A value's type as JSON Schema names it, where integers have one of their own. */
const char *sundog_schema_get_type(JsonNode *value);
/* The type that a keyword speaks of, or NULL. */
const char *sundog_schema_get_meant_type(const char *keyword);
/* Whether no value can be of both. False where that is not seen. */
bool sundog_schema_excludes(SundogSchemaCompiler *compiler, JsonNode *first, JsonNode *second);
/* Whether two values are the same to JSON: numbers by value, members in any order. */
bool sundog_schema_is_same(JsonNode *first, JsonNode *second);

/* Whether one of the list (NULL: none) is the same as the value. */
bool sundog_schema_holds(JsonArray *list, JsonNode *value);

/* Reads a count; `otherwise` where it is absent. False with an error where it is none. */
bool sundog_schema_get_count(SundogSchemaCompiler *compiler, JsonObject *schema,
                             const char *keyword, uint32_t otherwise, uint32_t *count);
