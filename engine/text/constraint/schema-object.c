/*
 * Objects: the known members in their order, each where it is required and otherwise possible, then
 * further ones. Between two members there is a state for each number of members that are written, as far
 * as that matters: at the least whether it is none, since then the next comes without a comma.
 */

#include "engine/text/constraint/schema-private.h"

#include <string.h>

/* Bounds on the number of members above this are refused, but for those that hold anyway. */
#define MAX_COUNT 128

typedef struct {
    const char *name;
    JsonNode *schema;
    bool required;
} Member;

/* States by the number of members so far; the last one's also stands for all greater numbers where there
 * is no upper bound. NOT_THERE where no text leads to it. */
typedef struct {
    uint32_t states[MAX_COUNT + 1];
    uint32_t last;
    uint32_t least;
    uint32_t most; /* or SUNDOG_AUTOMATON_UNBOUNDED */
} Counts;

#define NOT_THERE SUNDOG_SCHEMA_FAILED

/* Members as rules, since each may be written from several states */

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

/* Where the members before leave states to write one from: that state; the comma is written. */
static uint32_t
add_begin(SundogSchemaCompiler *compiler, uint32_t state, bool is_first)
{
    return is_first ? state : sundog_json_grammar_add_mark(compiler->json, state, ',');
}

/* The state for a number of members, made where it is not there yet. */
static uint32_t
get_state(SundogSchemaCompiler *compiler, Counts *counts, uint32_t n)
{
    uint32_t *state = &counts->states[MIN(n, counts->last)];
    if (*state == NOT_THERE)
        *state = sundog_automaton_builder_add_state(compiler->builder);
    return *state;
}

/* Goes over a member that may be left out where it is not required. */
static void
pass_member(SundogSchemaCompiler *compiler, Counts *counts, uint32_t rule, bool required)
{
    Counts next = *counts;
    memset(next.states, 0xFF, sizeof next.states);
    for (uint32_t n = 0; n <= counts->last; n++) {
        uint32_t state = counts->states[n];
        if (state == NOT_THERE)
            continue;
        if (n < counts->most && (n < counts->last || counts->most == SUNDOG_AUTOMATON_UNBOUNDED)) {
            uint32_t begin = add_begin(compiler, state, n == 0);
            uint32_t end = sundog_automaton_builder_add_call(compiler->builder, begin, rule);
            sundog_automaton_builder_add_empty(compiler->builder, end,
                                               get_state(compiler, &next, n + 1));
        }
        if (!required)
            sundog_automaton_builder_add_empty(compiler->builder, state,
                                               get_state(compiler, &next, n));
    }
    *counts = next;
}

/* A member's rule; NOT_THERE where no value is left for it, so that it may not be there. */
static bool
add_known_member(SundogSchemaCompiler *compiler, Counts *counts, const Member *member)
{
    uint32_t rule = add_member_rule(compiler, member);
    if (rule == SUNDOG_SCHEMA_FAILED)
        return !member->required && sundog_schema_forgive(compiler);
    pass_member(compiler, counts, rule, member->required);
    return true;
}

/* Further members */

/* One of them as a rule, and a comma and one as another, which can be counted. */
typedef struct {
    uint32_t rule;
    uint32_t next;
} OtherRules;

static bool
add_other(SundogSchemaCompiler *compiler, const SundogSchemaOthers *others, uint32_t from)
{
    SundogAutomatonBuilder *builder = compiler->builder;
    uint32_t key = sundog_automaton_builder_add_text(builder, from, "\"", 1);
    key = sundog_text_set_emit(others->keys, builder, sundog_json_grammar_encode, key);
    key = sundog_automaton_builder_add_text(builder, key, "\"", 1);
    uint32_t end = add_colon_and_value(compiler, others->values, others->place, NULL, key);
    return end != SUNDOG_SCHEMA_FAILED || sundog_schema_forgive(compiler);
}

static bool
add_other_rules(SundogSchemaCompiler *compiler, const GArray *others, OtherRules *rules)
{
    SundogAutomatonBuilder *builder = compiler->builder;
    rules->rule = sundog_automaton_builder_add_state(builder);
    for (guint i = 0; i < others->len; i++) {
        uint32_t from = sundog_automaton_builder_add_state(builder);
        sundog_automaton_builder_add_empty(builder, rules->rule, from);
        if (!add_other(compiler, &g_array_index(others, SundogSchemaOthers, i), from))
            return false;
    }
    rules->next = sundog_automaton_builder_add_state(builder);
    uint32_t begin = sundog_json_grammar_add_mark(compiler->json, rules->next, ',');
    sundog_automaton_builder_accept(builder,
                                    sundog_automaton_builder_add_call(builder, begin, rules->rule));
    return true;
}

/* Any number of further members that leaves all within the bounds; a key may come twice and counts once
 * then, so that all of them together are sure to be but one. */
static void
pass_others(SundogSchemaCompiler *compiler, Counts *counts, const OtherRules *rules)
{
    SundogAutomatonBuilder *builder = compiler->builder;
    bool is_open = counts->most == SUNDOG_AUTOMATON_UNBOUNDED;
    Counts next = *counts;
    for (uint32_t n = 0; n <= counts->last; n++) {
        uint32_t state = counts->states[n];
        if (state == NOT_THERE || n + 1 < counts->least || n >= counts->most)
            continue;
        uint32_t begin = add_begin(compiler, state, n == 0);
        uint32_t one = sundog_automaton_builder_add_call(builder, begin, rules->rule);
        uint32_t end = sundog_automaton_builder_add_repeat(
            builder, one, rules->next, 0, is_open ? counts->most : counts->most - n - 1);
        uint32_t behind = sundog_automaton_builder_add_state(builder);
        uint32_t *to = &next.states[MAX(MIN(n + 1, counts->last), counts->least)];
        sundog_automaton_builder_add_empty(builder, end, behind);
        if (*to != NOT_THERE)
            sundog_automaton_builder_add_empty(builder, *to, behind);
        *to = behind;
    }
    *counts = next;
}

static uint32_t
add_close(SundogSchemaCompiler *compiler, const Counts *counts)
{
    SundogAutomatonBuilder *builder = compiler->builder;
    uint32_t close = sundog_automaton_builder_add_state(builder);
    for (uint32_t n = counts->least; n <= counts->last; n++)
        if (counts->states[n] != NOT_THERE) {
            /* An empty object may have its space only once. */
            uint32_t end =
                n == 0 ? sundog_automaton_builder_add_text(builder, counts->states[0], "}", 1)
                       : sundog_json_grammar_add_close(compiler->json, counts->states[n], '}');
            sundog_automaton_builder_add_empty(builder, end, close);
        }
    return close;
}

/* Reading the schema */

static bool
is_false(JsonNode *node)
{
    return node != NULL && json_node_get_value_type(node) == G_TYPE_BOOLEAN &&
           !json_node_get_boolean(node);
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
require(SundogSchemaCompiler *compiler, JsonObject *schema, GArray *members, JsonNode *node)
{
    if (json_node_get_value_type(node) != G_TYPE_STRING) {
        sundog_schema_refuse(compiler, "required", "a list of names is expected");
        return false;
    }
    const char *name = json_node_get_string(node);
    Member *member = find_member(members, name);
    if (member != NULL) {
        member->required = true;
        return true;
    }
    Member added = {.name = name,
                    .schema = sundog_schema_hold_member(compiler, schema, name, NULL),
                    .required = true};
    if (is_false(added.schema))
        sundog_schema_contradict(compiler, "required", "“%.64s” is required and not allowed", name);
    if (added.schema == NULL || is_false(added.schema))
        return false;
    g_array_append_val(members, added);
    return true;
}

static bool
read_properties(SundogSchemaCompiler *compiler, JsonObject *schema, GArray *members)
{
    JsonNode *properties = json_object_get_member(schema, "properties");
    if (properties == NULL)
        return true;
    if (!JSON_NODE_HOLDS_OBJECT(properties)) {
        sundog_schema_refuse(compiler, "properties", "an object is expected");
        return false;
    }
    JsonObjectIter iter;
    Member member = {0};
    json_object_iter_init_ordered(&iter, json_node_get_object(properties));
    while (json_object_iter_next_ordered(&iter, &member.name, &member.schema)) {
        member.schema = sundog_schema_hold_member(compiler, schema, member.name, member.schema);
        if (member.schema == NULL)
            return false;
        g_array_append_val(members, member);
    }
    return true;
}

static bool
read_members(SundogSchemaCompiler *compiler, JsonObject *schema, GArray *members)
{
    JsonNode *required = json_object_get_member(schema, "required");
    if (!read_properties(compiler, schema, members))
        return false;
    if (required != NULL && !JSON_NODE_HOLDS_ARRAY(required)) {
        sundog_schema_refuse(compiler, "required", "a list of names is expected");
        return false;
    }
    JsonArray *list = required != NULL ? json_node_get_array(required) : NULL;
    for (guint i = 0; list != NULL && i < json_array_get_length(list); i++)
        if (!require(compiler, schema, members, json_array_get_element(list, i)))
            return false;
    return true;
}

static GArray *
read_others(SundogSchemaCompiler *compiler, JsonObject *schema, const GArray *members)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < members->len; i++)
        g_ptr_array_add(names, (char *)g_array_index(members, Member, i).name);
    return sundog_schema_read_others(compiler, schema, names);
}

/* The bounds, where they do not hold for any number of members that there may be. */
static bool
read_counts(SundogSchemaCompiler *compiler, JsonObject *schema, const GArray *members,
            bool has_others, Counts *counts)
{
    uint32_t n_required = 0, n_sure = members->len + has_others;
    for (guint i = 0; i < members->len; i++)
        n_required += g_array_index(members, Member, i).required;
    if (!sundog_schema_get_count(compiler, schema, "minProperties", 0, &counts->least) ||
        !sundog_schema_get_count(compiler, schema, "maxProperties", SUNDOG_AUTOMATON_UNBOUNDED,
                                 &counts->most))
        return false;
    if (counts->least <= n_required)
        counts->least = 0;
    if (!has_others && counts->most >= members->len)
        counts->most = SUNDOG_AUTOMATON_UNBOUNDED;
    bool is_open = counts->most == SUNDOG_AUTOMATON_UNBOUNDED;
    if (counts->least > n_sure || counts->least > MAX_COUNT)
        sundog_schema_refuse(compiler, "minProperties", "so many members cannot be enforced");
    else if (counts->most < n_required || counts->most < counts->least)
        sundog_schema_contradict(compiler, "maxProperties", "more members are required");
    else if (!is_open && counts->most > MAX_COUNT)
        sundog_schema_refuse(compiler, "maxProperties", "more than %d cannot be enforced",
                             MAX_COUNT);
    counts->last = MAX(1, is_open ? counts->least : counts->most);
    return *compiler->error == NULL;
}

static uint32_t
add_members(SundogSchemaCompiler *compiler, JsonObject *schema, const GArray *members,
            const GArray *others, uint32_t from)
{
    Counts counts;
    OtherRules rules;
    memset(counts.states, 0xFF, sizeof counts.states);
    if (!read_counts(compiler, schema, members, others->len > 0, &counts))
        return SUNDOG_SCHEMA_FAILED;
    counts.states[0] = sundog_automaton_builder_add_call(
        compiler->builder, from, sundog_json_grammar_get_space(compiler->json));
    for (guint i = 0; i < members->len; i++)
        if (!add_known_member(compiler, &counts, &g_array_index(members, Member, i)))
            return SUNDOG_SCHEMA_FAILED;
    if (others->len > 0 && !add_other_rules(compiler, others, &rules))
        return SUNDOG_SCHEMA_FAILED;
    if (others->len > 0)
        pass_others(compiler, &counts, &rules);
    return add_close(compiler, &counts);
}

uint32_t
sundog_schema_add_object(SundogSchemaCompiler *compiler, JsonObject *schema, uint32_t from)
{
    g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(Member));
    if (!read_members(compiler, schema, members))
        return SUNDOG_SCHEMA_FAILED;
    g_autoptr(GArray) others = read_others(compiler, schema, members);
    if (others == NULL)
        return SUNDOG_SCHEMA_FAILED;
    return add_members(compiler, schema, members, others,
                       sundog_automaton_builder_add_text(compiler->builder, from, "{", 1));
}
