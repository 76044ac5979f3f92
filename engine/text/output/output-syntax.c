/* The syntax as data: its members in one list, for printing, parsing and freeing. */

#include "engine/text/output/output-syntax.h"

#include "engine/format/error.h"

#include <string.h>

#define TEXTS(X)       \
    X(reasoning_open)  \
    X(reasoning_close) \
    X(turn_end)        \
    X(call_end)        \
    X(section_open)    \
    X(section_close)   \
    X(call_open)       \
    X(call_close)      \
    X(name_key)        \
    X(arguments_key)   \
    X(name_close)      \
    X(extra_close)     \
    X(key_open)        \
    X(text_open)       \
    X(value_open)      \
    X(value_close)
#define FLAGS(X) X(has_cdata) X(has_index) X(is_list) X(text_arguments) X(null_content) X(by_prompt)

static const char *const forms[] = {
    [SUNDOG_CALL_NONE] = "none",         [SUNDOG_CALL_OBJECT] = "object",
    [SUNDOG_CALL_NAMED] = "named",       [SUNDOG_CALL_TAGGED] = "tagged",
    [SUNDOG_CALL_PYTHONIC] = "pythonic", [SUNDOG_CALL_BRACED] = "braced",
    [SUNDOG_CALL_HARMONY] = "harmony",
};

void
sundog_output_syntax_free(SundogOutputSyntax *syntax)
{
    if (syntax == NULL)
        return;
#define X(name) g_free(syntax->name);
    TEXTS(X)
#undef X
    g_free(syntax);
}

JsonObject *
sundog_output_syntax_print(const SundogOutputSyntax *syntax)
{
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "calls", forms[syntax->form]);
#define X(name)               \
    if (syntax->name != NULL) \
        json_object_set_string_member(object, #name, syntax->name);
    TEXTS(X)
#undef X
#define X(name)       \
    if (syntax->name) \
        json_object_set_boolean_member(object, #name, TRUE);
    FLAGS(X)
#undef X
    return object;
}

static char *
dup_text(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);
    return node != NULL && json_node_get_value_type(node) == G_TYPE_STRING
               ? json_node_dup_string(node)
               : NULL;
}

static bool
get_flag(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);
    return node != NULL && json_node_get_value_type(node) == G_TYPE_BOOLEAN &&
           json_node_get_boolean(node);
}

/* What a form cannot do without. */
static bool
is_whole(const SundogOutputSyntax *syntax)
{
    bool has_calls = syntax->section_open != NULL && syntax->section_close != NULL &&
                     syntax->call_open != NULL && syntax->call_close != NULL;
    switch (syntax->form) {
    case SUNDOG_CALL_OBJECT:
        return has_calls && syntax->name_key != NULL && syntax->arguments_key != NULL;
    case SUNDOG_CALL_NAMED:
        return has_calls && syntax->name_close != NULL && syntax->extra_close != NULL;
    case SUNDOG_CALL_TAGGED:
        return has_calls && syntax->name_close != NULL && syntax->key_open != NULL &&
               syntax->text_open != NULL && syntax->value_open != NULL &&
               syntax->value_close != NULL && *syntax->key_open != '\0' &&
               *syntax->text_open != '\0' && *syntax->value_close != '\0';
    case SUNDOG_CALL_PYTHONIC:
        return has_calls;
    case SUNDOG_CALL_BRACED:
        return has_calls && *syntax->call_open != '\0' && syntax->text_open != NULL &&
               *syntax->text_open != '\0';
    default:
        return true;
    }
}

SundogOutputSyntax *
sundog_output_syntax_parse(JsonObject *object, GError **error)
{
    g_autoptr(SundogOutputSyntax) syntax = g_new0(SundogOutputSyntax, 1);
    g_autofree char *form = dup_text(object, "calls");
    size_t index = 0;
    while (index < G_N_ELEMENTS(forms) && g_strcmp0(forms[index], form) != 0)
        index++;
#define X(name) syntax->name = dup_text(object, #name);
    TEXTS(X)
#undef X
#define X(name) syntax->name = get_flag(object, #name);
    FLAGS(X)
#undef X
    if (index < G_N_ELEMENTS(forms))
        syntax->form = (SundogCallForm)index;
    if (index < G_N_ELEMENTS(forms) && is_whole(syntax) &&
        (syntax->reasoning_open == NULL) == (syntax->reasoning_close == NULL))
        return g_steal_pointer(&syntax);
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "the core's output syntax is none that is known: prepare the model again");
    return NULL;
}

/* Marks that the parser reads; the ends of turns are no part of an answer. */
static bool
is_in_mark(const SundogOutputSyntax *syntax, const char *spelling)
{
#define X(name)                                                                     \
    if (syntax->name != NULL && syntax->name != syntax->turn_end &&                 \
        syntax->name != syntax->call_end && strstr(syntax->name, spelling) != NULL) \
        return true;
    TEXTS(X)
#undef X
    static const char *const harmony[] = {"<|start|>",     "<|channel|>", "<|message|>",
                                          "<|constrain|>", "<|end|>",     NULL};
    return syntax->form == SUNDOG_CALL_HARMONY && g_strv_contains(harmony, spelling);
}

GArray *
sundog_output_syntax_find_tokens(const SundogOutputSyntax *syntax, const SundogTokenizer *tokenizer)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    GArray *tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++)
        if (vocabulary->tokens[i].kind == SUNDOG_TOKEN_CONTROL &&
            vocabulary->tokens[i].length > 1 && is_in_mark(syntax, vocabulary->tokens[i].text))
            g_array_append_val(tokens, i);
    return tokens;
}
