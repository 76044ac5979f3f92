/* From a request's messages to the prompt's tokens. */

#include "engine/text/chat.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/text/chat-tools.h"
#include <string.h>

/* The vocabulary's tokens as a template names them. */
typedef struct {
    const char *name;
    uint32_t token;
} NamedToken;

#define fail(error, ...) \
    sundog_error_set(error, SUNDOG_TEMPLATE_ERROR, SUNDOG_TEMPLATE_ERROR_MESSAGES, __VA_ARGS__)

static const char *
get_string(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);
    if (node == NULL || !JSON_NODE_HOLDS_VALUE(node) ||
        json_node_get_value_type(node) != G_TYPE_STRING)
        return NULL;
    return json_node_get_string(node);
}

/* One part of a message's content. Only text is taken; anything else is refused by name, never dropped. */
static bool
append_part(GString *text, JsonNode *part, unsigned message, unsigned index, GError **error)
{
    if (!JSON_NODE_HOLDS_OBJECT(part))
        return fail(error, "messages[%u].content[%u]: expected an object", message, index);
    JsonObject *object = json_node_get_object(part);
    const char *type = get_string(object, "type");
    const char *content = get_string(object, "text");
    if (type != NULL && strcmp(type, "text") != 0 && strcmp(type, "input_text") != 0 &&
        strcmp(type, "output_text") != 0)
        return fail(error,
                    "messages[%u].content[%u].type: this model takes parts of type \"text\", "
                    "not \"%s\"",
                    message, index, type);
    if (content == NULL)
        return fail(error, "messages[%u].content[%u].text: expected a string", message, index);
    g_string_append(text, content);
    return true;
}

/* Content as one text, owned by the caller: a string, parts joined, or nothing. */
static char *
dup_content(JsonObject *message, unsigned index, GError **error)
{
    JsonNode *content = json_object_get_member(message, "content");
    if (content == NULL || JSON_NODE_HOLDS_NULL(content))
        return g_strdup("");
    const char *text = get_string(message, "content");
    if (text != NULL)
        return g_strdup(text);
    if (!JSON_NODE_HOLDS_ARRAY(content)) {
        fail(error, "messages[%u].content: expected a string, null or a list of parts", index);
        return NULL;
    }
    JsonArray *parts = json_node_get_array(content);
    g_autoptr(GString) joined = g_string_new(NULL);
    for (unsigned i = 0; i < json_array_get_length(parts); i++)
        if (!append_part(joined, json_array_get_element(parts, i), index, i, error))
            return NULL;
    return g_string_free(g_steal_pointer(&joined), FALSE);
}

static JsonObject *
normalise_message(JsonNode *node, unsigned index, const SundogOutputSyntax *syntax, GError **error)
{
    if (!JSON_NODE_HOLDS_OBJECT(node)) {
        fail(error, "messages[%u]: expected an object", index);
        return NULL;
    }
    JsonObject *message = json_node_get_object(node);
    const char *role = get_string(message, "role");
    if (role == NULL || *role == '\0') {
        fail(error, "messages[%u].role: expected a string such as \"user\"", index);
        return NULL;
    }
    g_autofree char *content = dup_content(message, index, error);
    if (content == NULL)
        return NULL;
    g_autoptr(JsonObject) copy = json_object_new();
    sundog_json_copy_members(message, copy);
    if (!sundog_chat_convert_calls(copy, index, syntax != NULL && syntax->text_arguments, error))
        return NULL;
    json_object_set_string_member(copy, "role", strcmp(role, "developer") == 0 ? "system" : role);
    json_object_set_string_member(copy, "content", content);
    if (syntax != NULL && syntax->null_content && *content == '\0' &&
        json_object_has_member(copy, "tool_calls"))
        json_object_set_null_member(copy, "content");
    return g_steal_pointer(&copy);
}

static JsonArray *
normalise(JsonArray *messages, const SundogOutputSyntax *syntax, GError **error)
{
    g_autoptr(JsonArray) list = json_array_new();
    unsigned n = messages != NULL ? json_array_get_length(messages) : 0;
    if (n == 0) {
        fail(error, "messages: expected at least one message");
        return NULL;
    }
    for (unsigned i = 0; i < n; i++) {
        JsonObject *message =
            normalise_message(json_array_get_element(messages, i), i, syntax, error);
        if (message == NULL)
            return NULL;
        json_array_add_object_element(list, message);
    }
    return g_steal_pointer(&list);
}

static bool
has_role(JsonArray *messages, unsigned index, const char *role)
{
    JsonObject *message = json_array_get_object_element(messages, index);
    return strcmp(json_object_get_string_member(message, "role"), role) == 0;
}

static const char *
content_of(JsonArray *messages, unsigned index)
{
    return json_object_get_string_member(json_array_get_object_element(messages, index), "content");
}

/* What all system turns say; owned by the caller, NULL where none says anything. */
static char *
dup_system_text(JsonArray *messages)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (unsigned i = 0; i < json_array_get_length(messages); i++) {
        const char *content = content_of(messages, i);
        if (!has_role(messages, i, "system") || *content == '\0')
            continue;
        if (text->len > 0)
            g_string_append(text, "\n\n");
        g_string_append(text, content);
    }
    return text->len > 0 ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

static void
add_message(JsonArray *messages, const char *role, const char *content)
{
    JsonObject *message = json_object_new();
    json_object_set_string_member(message, "role", role);
    json_object_set_string_member(message, "content", content);
    json_array_add_object_element(messages, message);
}

/* The messages without system turns, their text in front of the first user turn. */
static JsonArray *
fold_system(JsonArray *messages, const char *system)
{
    JsonArray *folded = json_array_new();
    bool placed = false;
    for (unsigned i = 0; i < json_array_get_length(messages); i++) {
        if (has_role(messages, i, "system"))
            continue;
        JsonObject *message = json_object_new();
        sundog_json_copy_members(json_array_get_object_element(messages, i), message);
        if (!placed && has_role(messages, i, "user")) {
            g_autofree char *content = g_strconcat(system, "\n\n", content_of(messages, i), NULL);
            json_object_set_string_member(message, "content", content);
            placed = true;
        }
        json_array_add_object_element(folded, message);
    }
    if (!placed)
        add_message(folded, "user", system);
    return folded;
}

/* A client's variables may neither stand for the conversation nor pass for the vocabulary's tokens,
 * which alone are trusted. */
static bool
is_reserved(const char *name)
{
    return strcmp(name, "messages") == 0 || strcmp(name, "add_generation_prompt") == 0 ||
           g_str_has_suffix(name, "_token");
}

static void
set_extra(JsonObject *variables, JsonObject *extra)
{
    JsonObjectIter iter;
    const char *name;
    JsonNode *member;
    json_object_iter_init_ordered(&iter, extra);
    while (json_object_iter_next_ordered(&iter, &name, &member))
        if (!is_reserved(name))
            sundog_json_set_member(variables, name, json_node_ref(member));
}

static void
set_tokens(JsonObject *variables, const SundogTokenizer *tokenizer)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    const NamedToken tokens[] = {
        {"bos_token", vocabulary->bos},
        {"eos_token", vocabulary->eos},
        {"pad_token", vocabulary->padding},
        {"unk_token", vocabulary->unknown},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(tokens); i++) {
        g_autoptr(GByteArray) text = g_byte_array_new();
        if (!sundog_tokenizer_append_bytes(tokenizer, tokens[i].token, true, text))
            continue;
        g_byte_array_append(text, (const guint8 *)"", 1);
        json_object_set_string_member(variables, tokens[i].name, (const char *)text->data);
    }
}

static JsonObject *
make_variables(const SundogTokenizer *tokenizer, const SundogChat *chat, JsonArray *messages)
{
    JsonObject *variables = json_object_new();
    json_object_set_null_member(variables, "tools");
    json_object_set_null_member(variables, "documents");
    if (chat->extra != NULL)
        set_extra(variables, chat->extra);
    bool by_prompt = chat->syntax != NULL && chat->syntax->by_prompt;
    if (chat->tools != NULL && json_array_get_length(chat->tools) > 0 && !by_prompt)
        json_object_set_array_member(variables, "tools", json_array_ref(chat->tools));
    set_tokens(variables, tokenizer);
    json_object_set_boolean_member(variables, "add_generation_prompt", chat->add_generation_prompt);
    json_object_set_array_member(variables, "messages", json_array_ref(messages));
    return variables;
}

static SundogRendering *
render(const SundogTemplate *chat_template, const SundogTokenizer *tokenizer,
       const SundogChat *chat, JsonArray *messages, GError **error)
{
    g_autoptr(JsonObject) variables = make_variables(tokenizer, chat, messages);
    return sundog_template_render(chat_template, variables, g_get_real_time(), error);
}

/* Whether each system turn's text is to be found; templates may trim it. */
static bool
shows_system(const SundogRendering *rendering, JsonArray *messages)
{
    for (unsigned i = 0; i < json_array_get_length(messages); i++) {
        if (!has_role(messages, i, "system"))
            continue;
        g_autofree char *trimmed = g_strstrip(g_strdup(content_of(messages, i)));
        if (strstr(sundog_rendering_get_text(rendering, NULL), trimmed) == NULL)
            return false;
    }
    return true;
}

/* The messages with a word of our own for every system turn. */
static JsonArray *
replace_system(JsonArray *messages, const char *content)
{
    JsonArray *replaced = json_array_new();
    for (unsigned i = 0; i < json_array_get_length(messages); i++) {
        JsonObject *message = json_object_new();
        sundog_json_copy_members(json_array_get_object_element(messages, i), message);
        if (has_role(messages, i, "system"))
            json_object_set_string_member(message, "content", content);
        json_array_add_object_element(replaced, message);
    }
    return replaced;
}

/* A template may show a system turn changed (escaped, quoted), so that its text is not found as it was;
 * a plain word is. */
static bool
drops_system(const SundogTemplate *chat_template, const SundogTokenizer *tokenizer,
             const SundogChat *chat, const SundogRendering *rendering, JsonArray *messages)
{
    static const char probe[] = "Zweihundertelf";
    if (shows_system(rendering, messages))
        return false;
    g_autoptr(JsonArray) replaced = replace_system(messages, probe);
    g_autoptr(SundogRendering) probed = render(chat_template, tokenizer, chat, replaced, NULL);
    return probed == NULL || !shows_system(probed, replaced);
}

/* Renders, and once more with the system turns folded where the template refused or dropped them. The
 * first error stays the one that is told, since it speaks of the client's own messages. */
static SundogRendering *
render_messages(const SundogTemplate *chat_template, const SundogTokenizer *tokenizer,
                const SundogChat *chat, JsonArray *messages, GError **error)
{
    g_autoptr(GError) first_error = NULL;
    g_autoptr(SundogRendering) rendering =
        render(chat_template, tokenizer, chat, messages, &first_error);
    g_autofree char *system = dup_system_text(messages);
    bool refused = rendering == NULL && first_error->code != SUNDOG_TEMPLATE_ERROR_LIMIT;
    bool dropped = system != NULL && rendering != NULL &&
                   drops_system(chat_template, tokenizer, chat, rendering, messages);
    if (system != NULL && (refused || dropped)) {
        g_autoptr(JsonArray) folded = fold_system(messages, system);
        SundogRendering *second = render(chat_template, tokenizer, chat, folded, NULL);
        if (second != NULL)
            return second;
    }
    if (rendering == NULL)
        g_propagate_error(error, g_steal_pointer(&first_error));
    return g_steal_pointer(&rendering);
}

/* What the assistant has already said of the turn that the template is to open, taken off the messages;
 * NULL where the last message is another's, or stands alone. Owned by the caller. */
static char *
steal_beginning(JsonArray *messages)
{
    unsigned n = json_array_get_length(messages);
    if (n < 2 || !has_role(messages, n - 1, "assistant"))
        return NULL;
    char *beginning = g_strdup(content_of(messages, n - 1));
    json_array_remove_element(messages, n - 1);
    return beginning;
}

/* beginning: of the answer, or NULL; no more than text, as every message's. */
static GArray *
encode(const SundogTokenizer *tokenizer, const SundogRendering *rendering, const char *beginning)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    GArray *tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(SundogTextSpan));
    size_t n_spans;
    const SundogTextSpan *rendered = sundog_rendering_get_spans(rendering, &n_spans);
    g_array_append_vals(spans, rendered, (unsigned)n_spans);
    if (beginning != NULL) {
        SundogTextSpan span = {.text = beginning, .n_bytes = strlen(beginning)};
        g_array_append_val(spans, span);
    }
    sundog_tokenizer_encode_spans(tokenizer, (const SundogTextSpan *)spans->data, spans->len,
                                  SUNDOG_TOKENIZE_SPECIAL, tokens);
    bool has_bos = tokens->len > 0 && g_array_index(tokens, uint32_t, 0) == vocabulary->bos;
    if (vocabulary->add_bos && vocabulary->bos != SUNDOG_TOKEN_NONE && !has_bos)
        g_array_prepend_val(tokens, vocabulary->bos);
    return tokens;
}

GArray *
sundog_chat_encode(const SundogTemplate *chat_template, const SundogTokenizer *tokenizer,
                   const SundogChat *chat, SundogRendering **rendering, GError **error)
{
    g_autoptr(JsonArray) messages = normalise(chat->messages, chat->syntax, error);
    if (messages == NULL)
        return NULL;
    if (chat->syntax != NULL && chat->syntax->by_prompt) {
        JsonArray *explained = sundog_chat_explain_tools(messages, chat->tools);
        json_array_unref(messages);
        messages = explained;
    }
    g_autofree char *beginning = chat->continues ? steal_beginning(messages) : NULL;
    g_autoptr(SundogRendering) rendered =
        render_messages(chat_template, tokenizer, chat, messages, error);
    if (rendered == NULL)
        return NULL;
    GArray *tokens = encode(tokenizer, rendered, beginning);
    if (rendering != NULL)
        *rendering = g_steal_pointer(&rendered);
    return tokens;
}
