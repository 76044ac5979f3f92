/* Strings: of a length, of an expression, or of a format, which is an expression too. */

#include "engine/text/constraint/schema-private.h"

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

static const char *
find_format(JsonObject *schema)
{
    JsonNode *node = json_object_get_member(schema, "format");
    const char *name = node != NULL && json_node_get_value_type(node) == G_TYPE_STRING
                           ? json_node_get_string(node)
                           : "";
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return formats[i].pattern;
    return NULL;
}

/* An expression's texts, whose lengths must be seen to lie within the bounds. */
static uint32_t
add_pattern(SundogSchemaCompiler *compiler, const char *keyword, const char *pattern,
            uint32_t least, uint32_t most, uint32_t from)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(SundogGrammarNode) tree = sundog_pattern_parse(pattern, true, &reason);
    if (tree == NULL)
        return sundog_schema_refuse(compiler, keyword, "%s", reason->message);
    uint32_t shortest, longest;
    sundog_grammar_node_measure(tree, &shortest, &longest);
    if (shortest < least || (most != SUNDOG_AUTOMATON_UNBOUNDED && longest > most))
        return sundog_schema_refuse(compiler, shortest < least ? "minLength" : "maxLength",
                                    "beside “%s” it cannot be enforced: say it in the expression, "
                                    "or anchor that with ^ and $",
                                    keyword);
    from = sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
    from = sundog_grammar_node_emit(tree, compiler->builder, sundog_json_grammar_encode, from);
    return sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
}

uint32_t
sundog_schema_add_string(SundogSchemaCompiler *compiler, JsonObject *schema, uint32_t from)
{
    JsonNode *pattern = json_object_get_member(schema, "pattern");
    const char *format = find_format(schema);
    uint32_t least, most;
    if (!sundog_schema_get_count(compiler, schema, "minLength", 0, &least) ||
        !sundog_schema_get_count(compiler, schema, "maxLength", SUNDOG_AUTOMATON_UNBOUNDED, &most))
        return SUNDOG_SCHEMA_FAILED;
    if (least > most)
        return sundog_schema_refuse(compiler, "minLength", "it is above maxLength");
    if (pattern != NULL && json_node_get_value_type(pattern) != G_TYPE_STRING)
        return sundog_schema_refuse(compiler, "pattern", "a text is expected");
    if (pattern != NULL && format != NULL)
        return sundog_schema_refuse(compiler, "format", "it is not supported beside pattern");
    if (pattern != NULL)
        return add_pattern(compiler, "pattern", json_node_get_string(pattern), least, most, from);
    if (format != NULL)
        return add_pattern(compiler, "format", format, least, most, from);
    SundogJsonGrammar *json = compiler->json;
    if (least == 0 && most == SUNDOG_AUTOMATON_UNBOUNDED)
        return sundog_automaton_builder_add_call(compiler->builder, from,
                                                 sundog_json_grammar_get_string(json));
    from = sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
    from = sundog_automaton_builder_add_repeat(
        compiler->builder, from, sundog_json_grammar_get_character(json), least, most);
    return sundog_automaton_builder_add_text(compiler->builder, from, "\"", 1);
}
