/* Strings: of a length, of an expression, or of a format, which is an expression too. */

#include "engine/text/constraint/schema-private.h"

#include "engine/format/json-members.h"
#include "engine/text/constraint/pattern.h"

#include <string.h>

#define YEAR "[0-9]{4}"
#define DAY_29 "(0[1-9]|1[0-9]|2[0-8])"
/* Days that every year has, and those that months have beyond. */
#define DATE YEAR "-((0[1-9]|1[0-2])-" DAY_29 "|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
#define TIME "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?"
#define ZONE "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?"
#define HOST LABEL "(\\." LABEL "){0,6}"
#define OCTET "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#define HEX "[0-9a-fA-F]"

/* Narrower than their definitions where that keeps them simple: what is taken is valid. */
static const struct {
    const char *name;
    const char *pattern;
} formats[] = {
    {"date", "^" DATE "$"},
    {"date-time", "^" DATE "T" TIME ZONE "$"},
    {"duration", "^P([0-9]{1,4}D|([0-9]{1,4}D)?T[0-9]{1,4}[HMS]|[0-9]{1,4}[YMW])$"},
    {"email", "^[A-Za-z0-9_+-]{1,20}(\\.[A-Za-z0-9_+-]{1,20}){0,3}@" HOST "$"},
    {"hostname", "^" HOST "$"},
    {"ipv4", "^" OCTET "(\\." OCTET "){3}$"},
    {"ipv6", "^" HEX "{1,4}(:" HEX "{1,4}){7}$"},
    {"time", "^" TIME ZONE "$"},
    {"uri", "^https?://" HOST "(:[1-9][0-9]{0,3})?(/[A-Za-z0-9._~-]{0,64}){0,8}"
            "(\\?[A-Za-z0-9._~=&-]{0,128})?$"},
    {"uuid", "^" HEX "{8}-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}$"},
};

/* An expression's texts; NULL with an error. */
static SundogGrammarNode *
parse(SundogSchemaCompiler *compiler, const char *keyword, const char *pattern)
{
    g_autoptr(GError) reason = NULL;
    SundogGrammarNode *tree = sundog_pattern_parse(pattern, true, &reason);
    if (tree == NULL)
        sundog_schema_refuse(compiler, keyword, "%s", reason->message);
    return tree;
}

/* An expression that texts fit, and the keyword that asks for it. */
typedef struct {
    const char *keyword;
    const char *pattern;
} Expression;

/* What a schema says of a text. */
typedef struct {
    GArray *expressions; /* Expression */
    uint32_t least;
    uint32_t most;
} Conditions;

static void
add_format(GArray *expressions, const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (strcmp(formats[i].name, name) == 0) {
            Expression expression = {"format", formats[i].pattern};
            g_array_append_val(expressions, expression);
        }
}

static void
add_pattern(GArray *expressions, const char *pattern)
{
    Expression expression = {"pattern", pattern};
    g_array_append_val(expressions, expression);
}

/* Of a text, or of the list of texts that schemas which were combined have. */
static bool
read_expressions(SundogSchemaCompiler *compiler, JsonObject *schema, const char *keyword,
                 void (*add)(GArray *expressions, const char *text), GArray *expressions)
{
    JsonNode *node = json_object_get_member(schema, keyword);
    JsonArray *list = sundog_json_get_array(schema, keyword);
    guint n = list != NULL ? json_array_get_length(list) : node != NULL;
    for (guint i = 0; i < n; i++) {
        JsonNode *text = list != NULL ? json_array_get_element(list, i) : node;
        if (json_node_get_value_type(text) != G_TYPE_STRING) {
            sundog_schema_refuse(compiler, keyword, "a text is expected");
            return false;
        }
        add(expressions, json_node_get_string(text));
    }
    return true;
}

static bool
read_conditions(SundogSchemaCompiler *compiler, JsonObject *schema, Conditions *conditions)
{
    if (!read_expressions(compiler, schema, "format", add_format, conditions->expressions) ||
        !read_expressions(compiler, schema, "pattern", add_pattern, conditions->expressions) ||
        !sundog_schema_get_count(compiler, schema, "minLength", 0, &conditions->least) ||
        !sundog_schema_get_count(compiler, schema, "maxLength", SUNDOG_AUTOMATON_UNBOUNDED,
                                 &conditions->most))
        return false;
    if (conditions->least > conditions->most)
        sundog_schema_contradict(compiler, "minLength", "it is above maxLength");
    return *compiler->error == NULL;
}

/* Takes both sets, and gives what is of both; NULL with an error of the keyword. */
static SundogTextSet *
narrow(SundogSchemaCompiler *compiler, const char *keyword, SundogTextSet *first,
       SundogTextSet *second)
{
    g_autoptr(GError) reason = NULL;
    SundogTextSet *both =
        first && second ? sundog_text_set_intersect(first, second, &reason) : NULL;
    if (first && second && both == NULL)
        sundog_schema_refuse(compiler, keyword, "%s", reason->message);
    sundog_text_set_free(first);
    sundog_text_set_free(second);
    return both;
}

static SundogTextSet *
find_fitting(SundogSchemaCompiler *compiler, const char *keyword, const char *pattern)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(SundogGrammarNode) tree = parse(compiler, keyword, pattern);
    SundogTextSet *set = tree != NULL ? sundog_text_set_new_of_tree(tree, &reason) : NULL;
    if (tree != NULL && set == NULL)
        sundog_schema_refuse(compiler, keyword, "%s", reason->message);
    return set;
}

static SundogTextSet *
find_long_enough(SundogSchemaCompiler *compiler, const Conditions *conditions)
{
    g_autoptr(GError) reason = NULL;
    SundogTextSet *set =
        sundog_text_set_new_of_lengths(conditions->least, conditions->most, &reason);
    if (set == NULL)
        sundog_schema_refuse(compiler, conditions->least ? "minLength" : "maxLength", "%s",
                             reason->message);
    return set;
}

/* The texts among values; NULL with an error. */
static SundogTextSet *
find_listed(SundogSchemaCompiler *compiler, JsonArray *values)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new();
    g_autoptr(GError) reason = NULL;
    for (guint i = 0; i < json_array_get_length(values); i++) {
        JsonNode *value = json_array_get_element(values, i);
        if (json_node_get_value_type(value) == G_TYPE_STRING)
            g_ptr_array_add(texts, (char *)json_node_get_string(value));
    }
    SundogTextSet *set =
        sundog_text_set_new_of_texts((const char *const *)texts->pdata, texts->len, &reason);
    if (set == NULL)
        sundog_schema_refuse(compiler, "enum", "%s", reason->message);
    return set;
}

/* Takes the set, and leaves out what `not` refuses. */
static SundogTextSet *
leave_out(SundogSchemaCompiler *compiler, SundogTextSet *set, SundogTextSet *refused)
{
    g_autoptr(GError) reason = NULL;
    SundogTextSet *left = set && refused ? sundog_text_set_subtract(set, refused, &reason) : NULL;
    if (set && refused && left == NULL)
        sundog_schema_refuse(compiler, "not", "%s", reason->message);
    sundog_text_set_free(set);
    sundog_text_set_free(refused);
    return left;
}

static SundogTextSet *
leave_out_all(SundogSchemaCompiler *compiler, JsonObject *schema, SundogTextSet *set)
{
    JsonArray *unlike = sundog_json_get_array(schema, SUNDOG_SCHEMA_UNLIKE);
    JsonArray *excluded = sundog_json_get_array(schema, SUNDOG_SCHEMA_EXCLUDED);
    for (guint i = 0; unlike != NULL && i < json_array_get_length(unlike) && set != NULL; i++)
        set = leave_out(compiler, set,
                        find_fitting(compiler, "not", json_array_get_string_element(unlike, i)));
    return excluded != NULL && set != NULL
               ? leave_out(compiler, set, find_listed(compiler, excluded))
               : set;
}

SundogTextSet *
sundog_schema_find_texts(SundogSchemaCompiler *compiler, JsonObject *schema)
{
    g_autoptr(GArray) expressions = g_array_new(FALSE, FALSE, sizeof(Expression));
    Conditions conditions = {.expressions = expressions};
    if (!read_conditions(compiler, schema, &conditions))
        return NULL;
    SundogTextSet *set = find_long_enough(compiler, &conditions);
    g_autoptr(JsonArray) values = sundog_schema_dup_values(schema);
    if (values != NULL)
        set = narrow(compiler, "enum", set, find_listed(compiler, values));
    for (guint i = 0; i < expressions->len && set != NULL; i++) {
        const Expression *expression = &g_array_index(expressions, Expression, i);
        set = narrow(compiler, expression->keyword, set,
                     find_fitting(compiler, expression->keyword, expression->pattern));
    }
    return set != NULL ? leave_out_all(compiler, schema, set) : NULL;
}

/* An expression alone, where its texts have no other lengths than they may: as its tree has it, which may
 * be far larger than what can be combined. *is_added false where it has others. */
static uint32_t
add_alone(SundogSchemaCompiler *compiler, const Expression *expression,
          const Conditions *conditions, bool *is_added, uint32_t from)
{
    g_autoptr(SundogGrammarNode) tree = parse(compiler, expression->keyword, expression->pattern);
    uint32_t shortest, longest;
    if (tree == NULL)
        return SUNDOG_SCHEMA_FAILED;
    sundog_grammar_node_measure(tree, &shortest, &longest);
    *is_added = shortest >= conditions->least &&
                (conditions->most == SUNDOG_AUTOMATON_UNBOUNDED || longest <= conditions->most);
    if (!*is_added)
        return from;
    from = sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
    from = sundog_grammar_node_emit(tree, compiler->builder, sundog_json_grammar_encode, from);
    return sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
}

static uint32_t
add_texts(SundogSchemaCompiler *compiler, JsonObject *schema, uint32_t from)
{
    g_autoptr(SundogTextSet) set = sundog_schema_find_texts(compiler, schema);
    if (set == NULL)
        return SUNDOG_SCHEMA_FAILED;
    if (sundog_text_set_is_empty(set))
        return sundog_schema_contradict(compiler, "pattern", "no text is left");
    from = sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
    from = sundog_text_set_emit(set, compiler->builder, sundog_json_grammar_encode, from);
    return sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
}

static uint32_t
add_of_lengths(SundogSchemaCompiler *compiler, const Conditions *conditions, uint32_t from)
{
    SundogJsonGrammar *json = compiler->json;
    if (conditions->least == 0 && conditions->most == SUNDOG_AUTOMATON_UNBOUNDED)
        return sundog_automaton_builder_add_call(compiler->builder, from,
                                                 sundog_json_grammar_get_string(json));
    from = sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
    from = sundog_automaton_builder_add_repeat(compiler->builder, from,
                                               sundog_json_grammar_get_character(json),
                                               conditions->least, conditions->most);
    return sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
}

uint32_t
sundog_schema_add_string(SundogSchemaCompiler *compiler, JsonObject *schema, uint32_t from)
{
    g_autoptr(GArray) expressions = g_array_new(FALSE, FALSE, sizeof(Expression));
    Conditions conditions = {.expressions = expressions};
    bool is_added = false;
    if (!read_conditions(compiler, schema, &conditions))
        return SUNDOG_SCHEMA_FAILED;
    bool refuses_some = json_object_has_member(schema, SUNDOG_SCHEMA_UNLIKE) ||
                        json_object_has_member(schema, SUNDOG_SCHEMA_EXCLUDED);
    if (expressions->len == 0 && !refuses_some)
        return add_of_lengths(compiler, &conditions, from);
    if (expressions->len == 1 && !refuses_some)
        from = add_alone(compiler, &g_array_index(expressions, Expression, 0), &conditions,
                         &is_added, from);
    return is_added || from == SUNDOG_SCHEMA_FAILED ? from : add_texts(compiler, schema, from);
}
