/*
 * Objects: the known members in their order, each where it is required and otherwise possible, then
 * further ones. Where nothing has been written yet, a member comes without a comma; so each place
 * between two members is two states, before the first and behind one.
 */

#include "engine/text/constraint/schema-private.h"

#include "engine/text/constraint/character-set.h"
#include "engine/text/constraint/pattern.h"

#include <string.h>

typedef struct {
    const char *name;
    JsonNode *schema;
    bool required;
} Member;

/* The two states between members; `first` is SUNDOG_SCHEMA_FAILED where one was written for sure. */
typedef struct {
    uint32_t first;
    uint32_t later;
} Place;

/* Keys */

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* From a state where the key has this beginning in common with names[low..high): any way on but the
 * names themselves. Escapes are left out, so that no name can be written in another way. */
static void
add_other_key(SundogAutomatonBuilder *builder, uint32_t from, const char **names, guint n_names,
              size_t depth, uint32_t anything, uint32_t to)
{
    g_autoptr(GArray) others = sundog_character_set_new();
    bool is_name = false;
    sundog_character_set_add(others, 0, 0x1F);
    sundog_character_set_add(others, '"', '"');
    sundog_character_set_add(others, '\\', '\\');
    for (guint low = 0, high; low < n_names; low = high) {
        gunichar character = g_utf8_get_char(names[low] + depth);
        for (high = low + 1; high < n_names; high++)
            if (g_utf8_get_char(names[high] + depth) != character)
                break;
        if (character == 0) {
            is_name = true;
            continue;
        }
        sundog_character_set_add(others, character, character);
        if (character < ' ' || character == '"' || character == '\\')
            continue;
        uint32_t next = sundog_automaton_builder_add_state(builder);
        sundog_automaton_builder_add_characters(builder, from, character, character, next);
        add_other_key(builder, next, names + low, high - low,
                      depth + (size_t)g_unichar_to_utf8(character, NULL), anything, to);
    }
    sundog_character_set_normalise(others);
    sundog_character_set_invert(others);
    for (guint i = 0; i < others->len; i++) {
        SundogCharacterRange range = g_array_index(others, SundogCharacterRange, i);
        sundog_automaton_builder_add_characters(builder, from, range.low, range.high, anything);
    }
    if (!is_name)
        sundog_automaton_builder_add_bytes(builder, from, '"', '"', to);
}

/* A key that is none of the members' names. */
static uint32_t
add_unknown_key(SundogSchemaCompiler *compiler, const GArray *members, uint32_t from)
{
    SundogAutomatonBuilder *builder = compiler->builder;
    g_autofree const char **names = g_new(const char *, members->len + 1);
    for (guint i = 0; i < members->len; i++)
        names[i] = g_array_index(members, Member, i).name;
    qsort(names, members->len, sizeof *names, compare_names);
    uint32_t begin = sundog_automaton_builder_add_text(builder, from, "\"", 1);
    uint32_t anything = sundog_automaton_builder_add_state(builder);
    uint32_t to = sundog_automaton_builder_add_state(builder);
    add_other_key(builder, begin, names, members->len, 0, anything, to);
    add_other_key(builder, anything, NULL, 0, 0, anything, to);
    return to;
}

static uint32_t
add_known_key(SundogSchemaCompiler *compiler, const char *name, uint32_t from)
{
    SundogAutomatonBuilder *builder = compiler->builder;
    from = sundog_automaton_builder_add_text(builder, from, "\"", 1);
    for (; *name != '\0'; name = g_utf8_next_char(name)) {
        uint32_t to = sundog_automaton_builder_add_state(builder);
        gunichar character = g_utf8_get_char(name);
        sundog_json_grammar_encode(builder, from, character, character, to);
        from = to;
    }
    return sundog_automaton_builder_add_text(builder, from, "\"", 1);
}

/* Members as rules, since each may be written from two places */

static uint32_t
add_colon_and_value(SundogSchemaCompiler *compiler, JsonNode *schema, const char *place,
                    const char *name, uint32_t from)
{
    uint32_t colon = sundog_json_grammar_add_mark(compiler->json, from, ':');
    gsize n_path = compiler->path->len;
    if (name != NULL)
        g_string_append_printf(compiler->path, "/%s", place);
    uint32_t end = sundog_schema_add_value_at(compiler, schema, name != NULL ? name : place, colon);
    g_string_truncate(compiler->path, n_path);
    if (end != SUNDOG_SCHEMA_FAILED)
        sundog_automaton_builder_accept(compiler->builder, end);
    return end;
}

static uint32_t
add_member_rule(SundogSchemaCompiler *compiler, const Member *member)
{
    uint32_t rule = sundog_automaton_builder_add_state(compiler->builder);
    uint32_t key = add_known_key(compiler, member->name, rule);
    uint32_t end = add_colon_and_value(compiler, member->schema, "properties", member->name, key);
    return end != SUNDOG_SCHEMA_FAILED ? rule : SUNDOG_SCHEMA_FAILED;
}

/* Calls the rule from both states of a place; the state behind it. */
static uint32_t
add_member(SundogSchemaCompiler *compiler, Place place, uint32_t rule)
{
    SundogAutomatonBuilder *builder = compiler->builder;
    uint32_t begin = sundog_automaton_builder_add_state(builder);
    if (place.first != SUNDOG_SCHEMA_FAILED)
        sundog_automaton_builder_add_empty(builder, place.first, begin);
    if (place.later != SUNDOG_SCHEMA_FAILED)
        sundog_automaton_builder_add_empty(
            builder, sundog_json_grammar_add_mark(compiler->json, place.later, ','), begin);
    return sundog_automaton_builder_add_call(builder, begin, rule);
}

/* The place behind a member that may be left out, or not. */
static Place
pass_member(SundogSchemaCompiler *compiler, Place place, uint32_t end, bool required)
{
    Place next = {SUNDOG_SCHEMA_FAILED, end};
    if (required)
        return next;
    if (place.later != SUNDOG_SCHEMA_FAILED)
        sundog_automaton_builder_add_empty(compiler->builder, place.later, end);
    next.first = place.first;
    return next;
}

/* Reading the schema */

static bool
is_boolean(JsonNode *node, bool value)
{
    return node != NULL && json_node_get_value_type(node) == G_TYPE_BOOLEAN &&
           json_node_get_boolean(node) == value;
}

static Member *
find_member(GArray *members, const char *name)
{
    for (guint i = 0; i < members->len; i++)
        if (strcmp(g_array_index(members, Member, i).name, name) == 0)
            return &g_array_index(members, Member, i);
    return NULL;
}

static bool
require(SundogSchemaCompiler *compiler, GArray *members, JsonNode *name, JsonNode *others)
{
    if (json_node_get_value_type(name) != G_TYPE_STRING) {
        sundog_schema_refuse(compiler, "required", "a list of names is expected");
        return false;
    }
    Member *member = find_member(members, json_node_get_string(name));
    if (member != NULL) {
        member->required = true;
        return true;
    }
    if (is_boolean(others, false)) {
        sundog_schema_refuse(compiler, "required", "“%.64s” is required and not allowed",
                             json_node_get_string(name));
        return false;
    }
    Member added = {.name = json_node_get_string(name),
                    .schema = others != NULL ? others : compiler->any,
                    .required = true};
    g_array_append_val(members, added);
    return true;
}

static bool
read_members(SundogSchemaCompiler *compiler, JsonObject *schema, JsonNode *others, GArray *members)
{
    JsonNode *properties = json_object_get_member(schema, "properties");
    JsonNode *required = json_object_get_member(schema, "required");
    if (properties != NULL && !JSON_NODE_HOLDS_OBJECT(properties)) {
        sundog_schema_refuse(compiler, "properties", "an object is expected");
        return false;
    }
    if (properties != NULL) {
        JsonObjectIter iter;
        Member member = {0};
        json_object_iter_init_ordered(&iter, json_node_get_object(properties));
        while (json_object_iter_next_ordered(&iter, &member.name, &member.schema))
            /* One that nothing satisfies is one that may not be there. */
            if (!is_boolean(member.schema, false))
                g_array_append_val(members, member);
    }
    if (required != NULL && !JSON_NODE_HOLDS_ARRAY(required)) {
        sundog_schema_refuse(compiler, "required", "a list of names is expected");
        return false;
    }
    JsonArray *list = required != NULL ? json_node_get_array(required) : NULL;
    for (guint i = 0; list != NULL && i < json_array_get_length(list); i++)
        if (!require(compiler, members, json_array_get_element(list, i), others))
            return false;
    return true;
}

/* Further members */

/* What keys are held to where none is known: the schema of `propertyNames`, or the one expression of
 * `patternProperties`, whose schema then is that of the values. */
typedef struct {
    JsonNode *names;
    const char *pattern;
    JsonNode *values;
} Others;

static bool
read_pattern(SundogSchemaCompiler *compiler, JsonObject *schema, Others *others)
{
    JsonNode *node = json_object_get_member(schema, "patternProperties");
    JsonObject *patterns =
        node != NULL && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    if (node == NULL || (patterns != NULL && json_object_get_size(patterns) == 0))
        return true;
    if (patterns == NULL || json_object_get_size(patterns) != 1 || others->names != NULL ||
        !is_boolean(others->values, false)) {
        sundog_schema_refuse(compiler, "patternProperties",
                             "one expression alone, with additionalProperties false, is supported");
        return false;
    }
    JsonObjectIter iter;
    json_object_iter_init(&iter, patterns);
    json_object_iter_next(&iter, &others->pattern, &others->values);
    return true;
}

static bool
read_others(SundogSchemaCompiler *compiler, JsonObject *schema, Others *others)
{
    others->values = json_object_get_member(schema, "additionalProperties");
    others->names = json_object_get_member(schema, "propertyNames");
    return read_pattern(compiler, schema, others);
}

static uint32_t
add_pattern_key(SundogSchemaCompiler *compiler, const char *pattern, uint32_t from)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(SundogGrammarNode) tree = sundog_pattern_parse(pattern, true, &reason);
    if (tree == NULL)
        return sundog_schema_refuse(compiler, "patternProperties", "%s", reason->message);
    from = sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
    from = sundog_grammar_node_emit(tree, compiler->builder, sundog_json_grammar_encode, from);
    return sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
}

/* A further member as a rule. */
static uint32_t
add_other_rule(SundogSchemaCompiler *compiler, const Others *others, const GArray *members)
{
    uint32_t rule = sundog_automaton_builder_add_state(compiler->builder), key;
    if (others->pattern != NULL) {
        key = add_pattern_key(compiler, others->pattern, rule);
    } else if (others->names != NULL) {
        JsonObject *flat = sundog_schema_flatten(compiler, others->names);
        if (flat == NULL)
            return SUNDOG_SCHEMA_FAILED;
        key = json_object_has_member(flat, "enum")
                  ? sundog_schema_add_value_at(compiler, others->names, "propertyNames", rule)
                  : sundog_schema_add_string(compiler, flat, rule);
    } else {
        key = add_unknown_key(compiler, members, rule);
    }
    if (key == SUNDOG_SCHEMA_FAILED)
        return key;
    if (others->values != NULL) {
        key = add_colon_and_value(compiler, others->values, "additionalProperties", NULL, key);
        return key != SUNDOG_SCHEMA_FAILED ? rule : key;
    }
    uint32_t colon = sundog_json_grammar_add_mark(compiler->json, key, ':');
    sundog_automaton_builder_accept(
        compiler->builder,
        sundog_automaton_builder_add_call(compiler->builder, colon,
                                          sundog_json_grammar_get_value(compiler->json)));
    return rule;
}

/* A comma and a run of the rule, as a rule of its own to be counted. */
static uint32_t
add_next_rule(SundogSchemaCompiler *compiler, uint32_t rule)
{
    uint32_t next = sundog_automaton_builder_add_state(compiler->builder);
    uint32_t begin = sundog_json_grammar_add_mark(compiler->json, next, ',');
    sundog_automaton_builder_accept(
        compiler->builder, sundog_automaton_builder_add_call(compiler->builder, begin, rule));
    return next;
}

/* Up to `most` further members from a place on, of which `least` must be; the place behind them. */
static Place
add_others(SundogSchemaCompiler *compiler, Place place, uint32_t rule, uint32_t least,
           uint32_t most)
{
    SundogAutomatonBuilder *builder = compiler->builder;
    bool open = most == SUNDOG_AUTOMATON_UNBOUNDED;
    uint32_t end = sundog_automaton_builder_add_state(builder);
    if (most == 0)
        return place;
    uint32_t next = add_next_rule(compiler, rule);
    if (place.first != SUNDOG_SCHEMA_FAILED) {
        uint32_t one = sundog_automaton_builder_add_call(builder, place.first, rule);
        uint32_t rest = sundog_automaton_builder_add_repeat(
            builder, one, next, least > 0 ? least - 1 : 0, open ? most : most - 1);
        sundog_automaton_builder_add_empty(builder, rest, end);
    }
    if (place.later != SUNDOG_SCHEMA_FAILED) {
        uint32_t rest =
            sundog_automaton_builder_add_repeat(builder, place.later, next, least, most);
        sundog_automaton_builder_add_empty(builder, rest, end);
    }
    return (Place){least > 0 ? SUNDOG_SCHEMA_FAILED : place.first, end};
}

/* How many further members there may be: bounds on the number of all are held where the known ones'
 * number is fixed. */
static bool
count_others(SundogSchemaCompiler *compiler, JsonObject *schema, const GArray *members,
             bool has_others, uint32_t *least, uint32_t *most)
{
    uint32_t fewest, greatest, n_required = 0;
    for (guint i = 0; i < members->len; i++)
        n_required += g_array_index(members, Member, i).required;
    if (!sundog_schema_get_count(compiler, schema, "minProperties", 0, &fewest) ||
        !sundog_schema_get_count(compiler, schema, "maxProperties", SUNDOG_AUTOMATON_UNBOUNDED,
                                 &greatest))
        return false;
    *least = fewest > n_required ? fewest - n_required : 0;
    *most = !has_others                              ? 0
            : greatest == SUNDOG_AUTOMATON_UNBOUNDED ? greatest
            : greatest > members->len                ? greatest - members->len
                                                     : 0;
    /* A key may come twice, and then counts once. */
    if (*least > 1 || (*least > 0 && (!has_others || n_required < members->len))) {
        sundog_schema_refuse(compiler, "minProperties", "so many members cannot be enforced");
        return false;
    }
    if (greatest < n_required || (greatest < members->len && n_required < members->len)) {
        sundog_schema_refuse(compiler, "maxProperties", "so few members cannot be enforced");
        return false;
    }
    return true;
}

static uint32_t
add_members(SundogSchemaCompiler *compiler, JsonObject *schema, const GArray *members,
            const Others *others, bool has_others, uint32_t from)
{
    Place place = {sundog_automaton_builder_add_call(compiler->builder, from,
                                                     sundog_json_grammar_get_space(compiler->json)),
                   SUNDOG_SCHEMA_FAILED};
    for (guint i = 0; i < members->len; i++) {
        const Member *member = &g_array_index(members, Member, i);
        uint32_t rule = add_member_rule(compiler, member);
        if (rule == SUNDOG_SCHEMA_FAILED)
            return rule;
        uint32_t end = add_member(compiler, place, rule);
        place = pass_member(compiler, place, end, member->required);
    }
    uint32_t least, most;
    if (!count_others(compiler, schema, members, has_others, &least, &most))
        return SUNDOG_SCHEMA_FAILED;
    uint32_t rule = most > 0 ? add_other_rule(compiler, others, members) : 0;
    if (rule == SUNDOG_SCHEMA_FAILED)
        return rule;
    place = add_others(compiler, place, rule, least, most);
    uint32_t close = sundog_automaton_builder_add_state(compiler->builder);
    /* An empty object may have its space only once. */
    if (place.first != SUNDOG_SCHEMA_FAILED)
        sundog_automaton_builder_add_empty(
            compiler->builder,
            sundog_automaton_builder_add_text(compiler->builder, place.first, "}", 1), close);
    if (place.later != SUNDOG_SCHEMA_FAILED)
        sundog_automaton_builder_add_empty(
            compiler->builder, sundog_json_grammar_add_close(compiler->json, place.later, '}'),
            close);
    return close;
}

uint32_t
sundog_schema_add_object(SundogSchemaCompiler *compiler, JsonObject *schema, uint32_t from)
{
    g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(Member));
    Others others = {0};
    if (!read_others(compiler, schema, &others) ||
        !read_members(compiler, schema, others.values, members))
        return SUNDOG_SCHEMA_FAILED;
    if (members->len > 0 && (others.pattern != NULL || others.names != NULL))
        return sundog_schema_refuse(compiler,
                                    others.pattern != NULL ? "patternProperties" : "propertyNames",
                                    "it is not supported beside properties");
    /* Where properties are named and nothing is said of others, a model is asked for those alone. */
    bool names_some = members->len > 0 || json_object_has_member(schema, "properties");
    bool has_others = others.values != NULL ? !is_boolean(others.values, false) : !names_some;
    uint32_t open = sundog_automaton_builder_add_text(compiler->builder, from, "{", 1);
    return add_members(compiler, schema, members, &others, has_others, open);
}
