/* The parts of an answer, one after the other in one builder. */

#include "engine/text/output/answer-constraint.h"

#include "engine/text/constraint/gbnf.h"
#include "engine/text/constraint/pattern.h"
#include "engine/text/constraint/schema.h"

#include <string.h>

#define FAILED UINT32_MAX
#define MAX_IDENTIFIER 40

typedef struct {
    const SundogAnswerConstraint *wanted;
    SundogAutomatonBuilder *builder;
    SundogJsonGrammar json;
    GArray *controls; /* uint32_t: tokens that marks are made of */
    GError **error;
} Maker;

/* A tool's name and the schema of its arguments, borrowed. */
typedef struct {
    const char *name;
    JsonNode *schema; /* or NULL */
} Tool;

static uint32_t
refuse(Maker *maker, const char *format, const char *value)
{
    g_autofree char *text = g_strdup_printf("%s: %s", format, value);
    g_set_error_literal(maker->error, SUNDOG_GRAMMAR_ERROR, SUNDOG_GRAMMAR_ERROR_UNSUPPORTED, text);
    return FAILED;
}

/* Marks and space */

/* The longest control token that stands here, or NULL. */
static const SundogToken *
find_control(const Maker *maker, const char *text)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(maker->wanted->tokenizer);
    const SundogToken *longest = NULL;
    for (guint i = 0; i < maker->controls->len; i++) {
        const SundogToken *token = &vocabulary->tokens[g_array_index(maker->controls, uint32_t, i)];
        if (g_str_has_prefix(text, token->text) &&
            (longest == NULL || token->length > longest->length))
            longest = token;
    }
    return longest;
}

static char *
dup_mark(const Maker *maker, const char *text)
{
    GString *mark = g_string_new(NULL);
    while (*text != '\0') {
        const SundogToken *token = find_control(maker, text);
        size_t n = token != NULL ? token->length : 1;
        if (token != NULL)
            g_string_append_c(mark, (char)SUNDOG_AUTOMATON_CONTROL_BYTE);
        g_string_append_len(mark, text, (gssize)n);
        text += n;
    }
    return g_string_free(mark, FALSE);
}

static uint32_t
add_mark(Maker *maker, uint32_t from, const char *text)
{
    g_autofree char *mark = dup_mark(maker, text);
    return sundog_automaton_builder_add_text(maker->builder, from, mark, strlen(mark));
}

static uint32_t
add_text(Maker *maker, uint32_t from, const char *text)
{
    return sundog_automaton_builder_add_text(maker->builder, from, text, strlen(text));
}

static uint32_t
add_space(Maker *maker, uint32_t from)
{
    return sundog_automaton_builder_add_call(maker->builder, from,
                                             sundog_json_grammar_get_space(&maker->json));
}

/* A mark with white space before and behind it, where there is a mark. */
static uint32_t
add_spaced_mark(Maker *maker, uint32_t from, const char *text)
{
    return *text != '\0' ? add_space(maker, add_mark(maker, add_space(maker, from), text)) : from;
}

/* Any text up to a mark, and the mark. */
static uint32_t
add_until(Maker *maker, uint32_t from, const char *text)
{
    g_autofree char *mark = dup_mark(maker, text);
    return sundog_automaton_builder_add_until(maker->builder, from, mark);
}

/* Arguments */

static uint32_t
add_schema(Maker *maker, uint32_t from, JsonNode *schema)
{
    uint32_t rule = sundog_json_grammar_get_object(&maker->json);
    if (schema != NULL && !sundog_schema_add(&maker->json, schema, &rule, maker->error))
        return FAILED;
    return sundog_automaton_builder_add_call(maker->builder, from, rule);
}

static JsonObject *
get_object(JsonObject *object, const char *key)
{
    JsonNode *node = object != NULL ? json_object_get_member(object, key) : NULL;
    return node != NULL && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static bool
is_text(JsonNode *schema)
{
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(schema) ? json_node_get_object(schema) : NULL;
    JsonNode *type = object != NULL ? json_object_get_member(object, "type") : NULL;
    return type != NULL && json_node_get_value_type(type) == G_TYPE_STRING &&
           strcmp(json_node_get_string(type), "string") == 0 &&
           !json_object_has_member(object, "enum");
}

static bool
is_required(JsonObject *schema, const char *name)
{
    JsonNode *node = json_object_get_member(schema, "required");
    JsonArray *list =
        node != NULL && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    for (guint i = 0; list != NULL && i < json_array_get_length(list); i++)
        if (g_strcmp0(json_array_get_string_element(list, i), name) == 0)
            return true;
    return false;
}

/* The values of an enumeration of texts, without quotes; false where it is none. */
static bool
add_plain_values(Maker *maker, uint32_t from, JsonNode *schema, uint32_t *to)
{
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(schema) ? json_node_get_object(schema) : NULL;
    JsonNode *values = object != NULL ? json_object_get_member(object, "enum") : NULL;
    if (values == NULL || !JSON_NODE_HOLDS_ARRAY(values))
        return false;
    g_autoptr(GPtrArray) texts = g_ptr_array_new();
    JsonArray *list = json_node_get_array(values);
    for (guint i = 0; i < json_array_get_length(list); i++) {
        JsonNode *value = json_array_get_element(list, i);
        if (json_node_get_value_type(value) != G_TYPE_STRING)
            return false;
        g_ptr_array_add(texts, (char *)json_node_get_string(value));
    }
    *to = sundog_automaton_builder_add_choice(maker->builder, from,
                                              (const char *const *)texts->pdata, texts->len);
    return true;
}

/* TAGGED: one argument between its marks. A text goes on to the closing mark, whatever it says. */
static uint32_t
add_tagged(Maker *maker, uint32_t from, const char *name, JsonNode *schema)
{
    const SundogOutputSyntax *syntax = maker->wanted->syntax;
    uint32_t plain;
    from = add_mark(maker, add_space(maker, from), syntax->key_open);
    from = add_text(maker, from, name);
    if (is_text(schema))
        return add_until(maker, add_mark(maker, from, syntax->text_open), syntax->value_close);
    uint32_t open = add_space(maker, add_mark(maker, from, syntax->text_open));
    if (add_plain_values(maker, open, schema, &plain))
        return add_mark(maker, add_space(maker, plain), syntax->value_close);
    uint32_t value = add_space(maker, add_mark(maker, from, syntax->value_open));
    uint32_t end = add_schema(maker, value, schema);
    return end != FAILED ? add_mark(maker, add_space(maker, end), syntax->value_close) : end;
}

static uint32_t
add_tagged_arguments(Maker *maker, uint32_t from, JsonNode *schema)
{
    JsonObject *object =
        schema != NULL && JSON_NODE_HOLDS_OBJECT(schema) ? json_node_get_object(schema) : NULL;
    JsonObject *properties = get_object(object, "properties");
    JsonObjectIter iter;
    const char *name;
    JsonNode *member;
    if (properties == NULL)
        return from;
    json_object_iter_init_ordered(&iter, properties);
    while (json_object_iter_next_ordered(&iter, &name, &member)) {
        uint32_t to = add_tagged(maker, from, name, member);
        if (to == FAILED)
            return to;
        if (!is_required(object, name))
            sundog_automaton_builder_add_empty(maker->builder, from, to);
        from = to;
    }
    return from;
}

/* Calls */

/* OBJECT: {"name": …, "arguments": …} */
static uint32_t
add_object_call(Maker *maker, uint32_t from, const Tool *tool)
{
    const SundogOutputSyntax *syntax = maker->wanted->syntax;
    g_autofree char *name = g_strescape(tool->name, NULL);
    g_autofree char *head =
        g_strdup_printf("{\"%s\": \"%s\", \"%s\": ", syntax->name_key, name, syntax->arguments_key);
    uint32_t end = add_schema(maker, add_text(maker, from, head), tool->schema);
    return end != FAILED ? add_text(maker, end, "}") : end;
}

/* Letters and digits, as identifiers of calls have them. */
static uint32_t
add_identifier(Maker *maker, uint32_t from)
{
    uint32_t rule = sundog_automaton_builder_add_state(maker->builder);
    uint32_t end = sundog_automaton_builder_add_state(maker->builder);
    sundog_automaton_builder_add_bytes(maker->builder, rule, '0', '9', end);
    sundog_automaton_builder_add_bytes(maker->builder, rule, 'A', 'Z', end);
    sundog_automaton_builder_add_bytes(maker->builder, rule, 'a', 'z', end);
    sundog_automaton_builder_accept(maker->builder, end);
    return sundog_automaton_builder_add_repeat(maker->builder, from, rule, 1, MAX_IDENTIFIER);
}

/* NAMED: the name, its mark, what may stand between, the arguments. */
static uint32_t
add_named_call(Maker *maker, uint32_t from, const Tool *tool)
{
    const SundogOutputSyntax *syntax = maker->wanted->syntax;
    from = add_text(maker, from, tool->name);
    if (syntax->has_index) {
        uint32_t to = sundog_automaton_builder_add_state(maker->builder);
        from = add_text(maker, from, ":");
        sundog_automaton_builder_add_bytes(maker->builder, from, '0', '9', to);
        from = to;
    }
    from = add_space(maker, add_mark(maker, add_space(maker, from), syntax->name_close));
    if (*syntax->extra_close != '\0')
        from = add_mark(maker, add_identifier(maker, from), syntax->extra_close);
    return add_schema(maker, from, tool->schema);
}

/* BRACED: a text between its marks goes on to the closing one, whatever it says. */
static uint32_t
add_braced_value(Maker *maker, uint32_t from, JsonNode *schema)
{
    const char *mark = maker->wanted->syntax->text_open;
    uint32_t plain;
    if (is_text(schema))
        return add_until(maker, add_mark(maker, from, mark), mark);
    uint32_t open = add_mark(maker, from, mark);
    return add_plain_values(maker, open, schema, &plain) ? add_mark(maker, plain, mark)
                                                         : add_schema(maker, from, schema);
}

/* PYTHONIC, BRACED: one argument as a rule, since it may follow others or not. */
static uint32_t
add_keyword_rule(Maker *maker, const char *name, JsonNode *schema)
{
    bool is_braced = maker->wanted->syntax->form == SUNDOG_CALL_BRACED;
    uint32_t rule = sundog_automaton_builder_add_state(maker->builder);
    uint32_t value = add_text(maker, add_text(maker, rule, name), is_braced ? ":" : "=");
    uint32_t end =
        is_braced ? add_braced_value(maker, value, schema) : add_schema(maker, value, schema);
    if (end == FAILED)
        return FAILED;
    sundog_automaton_builder_accept(maker->builder, end);
    return rule;
}

/* PYTHONIC, BRACED: the arguments in the order of the schema; `first` and `later` are the states where none was
 * written and where one was. */
static uint32_t
add_keywords(Maker *maker, uint32_t first, JsonNode *schema)
{
    SundogAutomatonBuilder *builder = maker->builder;
    JsonObject *object =
        schema != NULL && JSON_NODE_HOLDS_OBJECT(schema) ? json_node_get_object(schema) : NULL;
    JsonObject *properties = get_object(object, "properties");
    g_autoptr(GList) names = properties != NULL ? json_object_get_members(properties) : NULL;
    bool is_braced = maker->wanted->syntax->form == SUNDOG_CALL_BRACED;
    uint32_t later = FAILED, to = sundog_automaton_builder_add_state(builder);
    for (GList *name = names; name != NULL; name = name->next) {
        uint32_t rule =
            add_keyword_rule(maker, name->data, json_object_get_member(properties, name->data));
        uint32_t end = sundog_automaton_builder_add_state(builder);
        if (rule == FAILED)
            return FAILED;
        if (first != FAILED)
            sundog_automaton_builder_add_empty(
                builder, sundog_automaton_builder_add_call(builder, first, rule), end);
        if (later != FAILED)
            sundog_automaton_builder_add_empty(
                builder,
                sundog_automaton_builder_add_call(
                    builder, add_text(maker, later, is_braced ? "," : ", "), rule),
                end);
        if (is_required(object, name->data))
            first = FAILED;
        else if (later != FAILED)
            sundog_automaton_builder_add_empty(builder, later, end);
        later = end;
    }
    if (first != FAILED)
        sundog_automaton_builder_add_empty(builder, first, to);
    if (later != FAILED)
        sundog_automaton_builder_add_empty(builder, later, to);
    return to;
}

static uint32_t
add_keyword_call(Maker *maker, uint32_t from, const Tool *tool)
{
    bool is_braced = maker->wanted->syntax->form == SUNDOG_CALL_BRACED;
    from = add_text(maker, add_text(maker, from, tool->name), is_braced ? "{" : "(");
    uint32_t end = add_keywords(maker, from, tool->schema);
    return end != FAILED ? add_text(maker, end, is_braced ? "}" : ")") : end;
}

static uint32_t
add_harmony_call(Maker *maker, uint32_t from, const Tool *tool)
{
    g_autofree char *head = g_strdup_printf(
        "<|channel|>commentary to=functions.%s <|constrain|>json<|message|>", tool->name);
    return add_schema(maker, add_mark(maker, from, head), tool->schema);
}

static uint32_t
add_call(Maker *maker, uint32_t from, const Tool *tool)
{
    const SundogOutputSyntax *syntax = maker->wanted->syntax;
    uint32_t end;
    switch (syntax->form) {
    case SUNDOG_CALL_OBJECT:
        return add_object_call(maker, from, tool);
    case SUNDOG_CALL_NAMED:
        return add_named_call(maker, from, tool);
    case SUNDOG_CALL_PYTHONIC:
    case SUNDOG_CALL_BRACED:
        return add_keyword_call(maker, from, tool);
    case SUNDOG_CALL_HARMONY:
        return add_harmony_call(maker, from, tool);
    case SUNDOG_CALL_TAGGED:
        end = add_mark(maker, add_text(maker, from, tool->name), syntax->name_close);
        return add_tagged_arguments(maker, end, tool->schema);
    default:
        return refuse(maker, "a call cannot be enforced in this model's syntax", tool->name);
    }
}

static bool
read_tool(JsonNode *node, Tool *tool)
{
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    JsonObject *function = get_object(object, "function");
    JsonNode *name = function != NULL ? json_object_get_member(function, "name") : NULL;
    JsonNode *schema = function != NULL ? json_object_get_member(function, "parameters") : NULL;
    tool->name = name != NULL && json_node_get_value_type(name) == G_TYPE_STRING
                     ? json_node_get_string(name)
                     : NULL;
    tool->schema = schema != NULL && !JSON_NODE_HOLDS_NULL(schema) ? schema : NULL;
    return tool->name != NULL;
}

/* One call of any wanted tool, as a rule. */
static uint32_t
add_call_rule(Maker *maker)
{
    const SundogAnswerConstraint *wanted = maker->wanted;
    uint32_t rule = sundog_automaton_builder_add_state(maker->builder);
    guint n_tools = 0;
    for (guint i = 0; wanted->tools != NULL && i < json_array_get_length(wanted->tools); i++) {
        Tool tool;
        if (!read_tool(json_array_get_element(wanted->tools, i), &tool) ||
            (wanted->tool_name != NULL && strcmp(wanted->tool_name, tool.name) != 0))
            continue;
        uint32_t begin =
            add_mark(maker, rule, wanted->syntax->call_open ? wanted->syntax->call_open : "");
        bool spaced = wanted->syntax->form == SUNDOG_CALL_OBJECT;
        uint32_t end = add_call(maker, spaced ? add_space(maker, begin) : begin, &tool);
        if (end == FAILED)
            return end;
        const char *close = wanted->syntax->call_close;
        if (close != NULL && *close != '\0')
            end = add_mark(maker, add_space(maker, end), close);
        sundog_automaton_builder_accept(maker->builder, end);
        n_tools++;
    }
    return n_tools > 0 ? rule
                       : refuse(maker, "there is no such tool",
                                wanted->tool_name != NULL ? wanted->tool_name : "none at all");
}

/* One call, or several where the request and the syntax allow; the state behind them. */
static uint32_t
add_calls(Maker *maker, uint32_t from)
{
    const SundogOutputSyntax *syntax = maker->wanted->syntax;
    uint32_t rule = add_call_rule(maker);
    if (rule == FAILED)
        return FAILED;
    bool harmony = syntax->form == SUNDOG_CALL_HARMONY;
    bool is_list = syntax->is_list || syntax->form == SUNDOG_CALL_PYTHONIC;
    bool marked =
        is_list || (!harmony && (*syntax->section_open != '\0' || *syntax->call_open != '\0'));
    if (!harmony)
        from = add_spaced_mark(maker, from, syntax->section_open);
    if (is_list)
        from = add_text(maker, from, "[");
    uint32_t begin = sundog_automaton_builder_add_state(maker->builder);
    sundog_automaton_builder_add_empty(maker->builder, from, begin);
    uint32_t end = sundog_automaton_builder_add_call(maker->builder, begin, rule);
    if (maker->wanted->is_parallel && marked) {
        uint32_t next = is_list ? add_text(maker, end, ",") : end;
        sundog_automaton_builder_add_empty(maker->builder, add_space(maker, next), begin);
    }
    if (is_list)
        end = add_text(maker, end, "]");
    if (!harmony && *syntax->section_close != '\0')
        end = add_mark(maker, add_space(maker, end), syntax->section_close);
    return end;
}

/* Reasoning and the answer */

static uint32_t
add_reasoning(Maker *maker, uint32_t from)
{
    const SundogAnswerConstraint *wanted = maker->wanted;
    const SundogOutputSyntax *syntax = wanted->syntax;
    if (syntax == NULL || !wanted->reasons)
        return from;
    uint32_t to = sundog_automaton_builder_add_state(maker->builder);
    uint32_t open;
    if (syntax->form == SUNDOG_CALL_HARMONY) {
        open = add_mark(maker, from, "<|channel|>analysis<|message|>");
        sundog_automaton_builder_add_empty(
            maker->builder,
            add_mark(maker, add_until(maker, open, "<|end|>"), "<|start|>assistant"), to);
        sundog_automaton_builder_add_empty(maker->builder, from, to);
        return to;
    }
    if (syntax->reasoning_open == NULL)
        return from;
    open = wanted->begins_reasoning ? from : add_mark(maker, from, syntax->reasoning_open);
    uint32_t close = add_until(maker, open, syntax->reasoning_close);
    sundog_automaton_builder_add_empty(maker->builder, add_space(maker, add_space(maker, close)),
                                       to);
    if (!wanted->begins_reasoning)
        sundog_automaton_builder_add_empty(maker->builder, from, to);
    return to;
}

/* JSON or another form's text; `from` where neither is wanted. */
static uint32_t
add_content(Maker *maker, uint32_t from)
{
    const SundogAnswerConstraint *wanted = maker->wanted;
    if (wanted->syntax != NULL && wanted->syntax->form == SUNDOG_CALL_HARMONY)
        from = add_mark(maker, from, "<|channel|>final<|message|>");
    if (wanted->grammar != NULL) {
        uint32_t root;
        if (!sundog_gbnf_add(maker->builder, wanted->grammar, &root, maker->error))
            return FAILED;
        return sundog_automaton_builder_add_call(maker->builder, from, root);
    }
    if (wanted->pattern != NULL) {
        g_autoptr(SundogGrammarNode) tree =
            sundog_pattern_parse(wanted->pattern, false, maker->error);
        return tree != NULL
                   ? sundog_grammar_node_emit(tree, maker->builder,
                                              sundog_automaton_builder_add_characters, from)
                   : FAILED;
    }
    if (wanted->choices != NULL)
        return sundog_automaton_builder_add_choice(maker->builder, from, wanted->choices,
                                                   g_strv_length((char **)wanted->choices));
    return add_schema(maker, from, wanted->schema);
}

SundogAutomaton *
sundog_answer_constraint_new(const SundogAnswerConstraint *wanted, GError **error)
{
    g_autoptr(SundogAutomatonBuilder) builder = sundog_automaton_builder_new();
    g_autoptr(GArray) controls =
        wanted->syntax != NULL ? sundog_output_syntax_find_tokens(wanted->syntax, wanted->tokenizer)
                               : g_array_new(FALSE, FALSE, sizeof(uint32_t));
    Maker maker = {.wanted = wanted, .builder = builder, .controls = controls, .error = error};
    sundog_json_grammar_init(&maker.json, builder);
    maker.json.is_python = wanted->calls && wanted->syntax->form == SUNDOG_CALL_PYTHONIC;
    uint32_t start = sundog_automaton_builder_add_state(builder);
    uint32_t from = add_reasoning(&maker, start);
    if (wanted->is_json || wanted->schema != NULL || wanted->grammar != NULL ||
        wanted->pattern != NULL || wanted->choices != NULL) {
        uint32_t end = add_content(&maker, from);
        if (end == FAILED)
            return NULL;
        sundog_automaton_builder_accept(builder, end);
    }
    if (wanted->calls) {
        uint32_t begin = sundog_automaton_builder_add_state(builder);
        sundog_automaton_builder_add_empty(builder, from, begin);
        uint32_t end = add_calls(&maker, begin);
        if (end == FAILED)
            return NULL;
        sundog_automaton_builder_accept(builder, end);
    }
    return sundog_automaton_builder_finish(builder, start, error);
}
