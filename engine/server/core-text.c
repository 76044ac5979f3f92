/* The text side of a core. */

#include "engine/server/core-text.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/text/tokenizer/token-bytes.h"
#include "engine/wire/messages.h"
#include <string.h>

#define MAX_TEMPLATE_BYTES (4u << 20)

static bool
open_tokenizer(SundogCoreText *text, const SundogPackage *package, GError **error)
{
    g_autoptr(GBytes) bytes = sundog_package_dup_member(package, SUNDOG_CORE_VOCABULARY, error);
    if (!bytes)
        return false;
    SundogReader reader;
    size_t n_bytes = 0;
    const void *data = g_bytes_get_data(bytes, &n_bytes);
    sundog_reader_init(&reader, data, n_bytes, SUNDOG_CORE_VOCABULARY);
    SundogVocabulary *vocabulary = sundog_vocabulary_read(&reader);
    if (!sundog_reader_finish(&reader, error)) {
        sundog_vocabulary_free(vocabulary);
        return false;
    }
    text->tokenizer = sundog_tokenizer_new(vocabulary, error);
    return text->tokenizer != NULL;
}

/* A core without a template is one for plain completions. */
static bool
open_template(SundogCoreText *text, const SundogPackage *package, GError **error)
{
    JsonNode *node = json_object_get_member(text->manifest, "text");
    JsonObject *members = node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    if (!members || !json_object_has_member(members, "template") ||
        json_object_get_null_member(members, "template"))
        return true;
    g_autoptr(GBytes) bytes = sundog_package_dup_member(package, SUNDOG_CORE_TEMPLATE, error);
    if (!bytes)
        return false;
    size_t n_bytes = 0;
    const char *data = g_bytes_get_data(bytes, &n_bytes);
    if (n_bytes > MAX_TEMPLATE_BYTES || !g_utf8_validate(data, (gssize)n_bytes, NULL)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "The chat template of %s is longer than %u bytes or no UTF-8", text->name,
                    MAX_TEMPLATE_BYTES);
        return false;
    }
    text->template_source = g_strndup(data, n_bytes);
    text->chat_template = sundog_template_new(text->template_source, error);
    return text->chat_template != NULL;
}

static bool
open_syntax(SundogCoreText *text, GError **error)
{
    JsonNode *node = json_object_get_member(text->manifest, "text");
    JsonObject *members = node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    JsonNode *syntax = members ? json_object_get_member(members, "syntax") : NULL;
    if (!text->chat_template || !syntax || !JSON_NODE_HOLDS_OBJECT(syntax))
        return true;
    text->syntax = sundog_output_syntax_parse(json_node_get_object(syntax), error);
    if (!text->syntax)
        return false;
    text->syntax_tokens = sundog_output_syntax_find_tokens(text->syntax, text->tokenizer);
    return true;
}

static void
add_end(GArray *ends, uint32_t token)
{
    for (guint i = 0; i < ends->len; i++)
        if (g_array_index(ends, uint32_t, i) == token)
            return;
    if (token != SUNDOG_TOKEN_NONE)
        g_array_append_val(ends, token);
}

/* Those of the vocabulary, and those that the template shows. */
static void
collect_ends(SundogCoreText *text)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(text->tokenizer);
    text->ends = g_array_new(false, false, sizeof(uint32_t));
    for (uint32_t i = 0; i < vocabulary->n_ends; i++)
        add_end(text->ends, vocabulary->ends[i]);
    const char *shown[] = {text->syntax ? text->syntax->turn_end : NULL,
                           text->syntax ? text->syntax->call_end : NULL};
    for (size_t i = 0; i < G_N_ELEMENTS(shown); i++)
        if (shown[i])
            add_end(text->ends, sundog_tokenizer_find(text->tokenizer, shown[i], strlen(shown[i])));
}

GVariant *
sundog_core_text_get_vocabulary(SundogCoreText *text)
{
    if (!text->vocabulary) {
        g_autoptr(SundogTokenBytes) tokens = sundog_token_bytes_new(text->tokenizer);
        SundogWireVocabulary vocabulary = {tokens->ends, tokens->n_tokens, tokens->bytes->data,
                                           tokens->bytes->len};
        text->vocabulary = g_variant_ref_sink(sundog_wire_vocabulary_pack(&vocabulary));
    }
    return text->vocabulary;
}

static void
read_manifest(SundogCoreText *text, const SundogPackage *package)
{
    text->manifest = json_object_ref(sundog_package_get_manifest(package));
    JsonNode *model = json_object_get_member(text->manifest, "model");
    if (model && JSON_NODE_HOLDS_OBJECT(model))
        text->context_length =
            (uint32_t)CLAMP(json_object_get_int_member_with_default(json_node_get_object(model),
                                                                    "context_length", 0),
                            0, INT32_MAX);
    JsonObject *result = sundog_json_get_object(text->manifest, "result");
    text->purpose = sundog_json_get_string(text->manifest, "purpose", "generate");
    text->pair_template = sundog_json_get_string(result, "template", NULL);
    text->n_outputs = (uint32_t)CLAMP(sundog_json_get_number(result, "n_outputs", 0), 0, INT32_MAX);
    g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
    json_node_set_object(root, text->manifest);
    g_autofree char *printed = sundog_json_print(root, false);
    g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, printed, -1);
    text->fingerprint = g_strdup_printf("fp_%.12s", hash);
}

SundogCoreText *
sundog_core_text_open(const SundogLibraryEntry *entry, SundogKeyring *keyring, GError **error)
{
    g_autoptr(SundogPackage) package = sundog_package_open(entry->path, keyring, error);
    if (!package)
        return NULL;
    g_autoptr(SundogCoreText) text = g_new0(SundogCoreText, 1);
    text->n_references = 1;
    text->breakers =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_array_unref);
    text->name = g_strdup(entry->name);
    text->path = g_strdup(entry->path);
    read_manifest(text, package);
    if (!open_tokenizer(text, package, error) || !open_template(text, package, error) ||
        !open_syntax(text, error))
        return NULL;
    collect_ends(text);
    return g_steal_pointer(&text);
}

SundogCoreText *
sundog_core_text_ref(SundogCoreText *text)
{
    text->n_references++;
    return text;
}

void
sundog_core_text_unref(SundogCoreText *text)
{
    if (!text || --text->n_references > 0)
        return;
    sundog_template_free(text->chat_template);
    sundog_output_syntax_free(text->syntax);
    sundog_core_text_unref(text->draft);
    g_clear_pointer(&text->syntax_tokens, g_array_unref);
    g_clear_pointer(&text->ends, g_array_unref);
    g_clear_pointer(&text->vocabulary, g_variant_unref);
    g_hash_table_unref(text->breakers);
    sundog_tokenizer_free(text->tokenizer);
    g_clear_pointer(&text->manifest, json_object_unref);
    g_free(text->name);
    g_free(text->path);
    g_free(text->fingerprint);
    g_free(text->template_source);
    g_free(text);
}

bool
sundog_core_text_set_draft(SundogCoreText *text, SundogCoreText *draft, GError **error)
{
    text->is_draft_chosen = true;
    if (!sundog_vocabulary_check_same(sundog_tokenizer_get_vocabulary(draft->tokenizer),
                                      sundog_tokenizer_get_vocabulary(text->tokenizer), error)) {
        g_prefix_error(error, "%s cannot draft for %s: ", draft->name, text->name);
        return false;
    }
    sundog_core_text_unref(text->draft);
    text->draft = sundog_core_text_ref(draft);
    return true;
}

double
sundog_core_text_get_sampling(const SundogCoreText *text, const char *key, double otherwise)
{
    JsonObject *profile =
        sundog_json_get_object(sundog_json_get_object(text->manifest, "sampling"), "default");
    return profile ? json_object_get_double_member_with_default(profile, key, otherwise)
                   : otherwise;
}
