/* Texts that break runs, as tokens. */

#include "engine/server/dry-breakers.h"

#include <string.h>

/* Lists of texts that are remembered of a core. */
#define MAX_REMEMBERED 8

static void
append_word(GArray *words, size_t value)
{
    uint32_t word = (uint32_t)value;
    g_array_append_val(words, word);
}

/* n_heads, heads, n_tail, tail. */
static void
append_breaker(GArray *words, const GArray *heads, const uint32_t *tail, guint n_tail)
{
    if (heads->len == 0)
        return;
    append_word(words, heads->len);
    g_array_append_vals(words, heads->data, heads->len);
    append_word(words, n_tail);
    g_array_append_vals(words, tail, n_tail);
}

static bool
holds_any(const GByteArray *bytes, const char *const *texts)
{
    for (; *texts; texts++)
        if (bytes->len >= strlen(*texts) && memmem(bytes->data, bytes->len, *texts, strlen(*texts)))
            return true;
    return false;
}

static bool
ends_with(const GByteArray *bytes, const char *text, size_t n_bytes)
{
    return bytes->len >= n_bytes && memcmp(bytes->data + bytes->len - n_bytes, text, n_bytes) == 0;
}

/* How many of the last tokens write the text; 0 where none do. */
static guint
count_last(const SundogTokenizer *tokenizer, const GArray *tokens, const char *text)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    size_t n_left = strlen(text);
    for (guint n = 1; n <= tokens->len && n_left > 0; n++) {
        uint32_t token = g_array_index(tokens, uint32_t, tokens->len - n);
        g_byte_array_set_size(bytes, 0);
        sundog_tokenizer_append_bytes(tokenizer, token, false, bytes);
        if (bytes->len == 0 || bytes->len > n_left ||
            memcmp(bytes->data, text + n_left - bytes->len, bytes->len) != 0)
            return 0;
        n_left -= bytes->len;
        if (n_left == 0)
            return n;
    }
    return 0;
}

/* The tokens of a text that goes on from others; behind a line's end too, since some vocabularies put a
 * space before what begins. Empty where they write something else. */
static GArray *
encode_rest(const SundogTokenizer *tokenizer, const char *text)
{
    static const char *const before[] = {"", "\n"};
    GArray *tokens = g_array_new(false, false, sizeof(uint32_t));
    for (size_t i = 0; i < G_N_ELEMENTS(before) && tokens->len == 0; i++) {
        g_autofree char *whole = g_strconcat(before[i], text, NULL);
        sundog_tokenizer_encode(tokenizer, whole, strlen(whole), SUNDOG_TOKENIZE_PLAIN, tokens);
        guint n = count_last(tokenizer, tokens, text);
        g_array_remove_range(tokens, 0, tokens->len - n);
    }
    return tokens;
}

/* The bytes of the vocabulary's tokens (GByteArray). */
static GPtrArray *
list_bytes(const SundogTokenizer *tokenizer)
{
    uint32_t n_tokens = sundog_tokenizer_get_vocabulary(tokenizer)->n_tokens;
    GPtrArray *list = g_ptr_array_new_full(n_tokens, (GDestroyNotify)g_byte_array_unref);
    for (uint32_t token = 0; token < n_tokens; token++) {
        GByteArray *bytes = g_byte_array_new();
        sundog_tokenizer_append_bytes(tokenizer, token, false, bytes);
        g_ptr_array_add(list, bytes);
    }
    return list;
}

/* Tokens that end with so many bytes of the text, and hold no breaker whole. */
static GArray *
find_heads(const GPtrArray *vocabulary, const char *const *texts, const char *text, size_t n_bytes)
{
    GArray *heads = g_array_new(false, false, sizeof(uint32_t));
    for (guint token = 0; token < vocabulary->len; token++)
        if (ends_with(vocabulary->pdata[token], text, n_bytes) &&
            !holds_any(vocabulary->pdata[token], texts))
            append_word(heads, token);
    return heads;
}

static size_t
find_longest(const GPtrArray *vocabulary)
{
    size_t longest = 0;
    for (guint i = 0; i < vocabulary->len; i++)
        longest = MAX(longest, ((const GByteArray *)vocabulary->pdata[i])->len);
    return longest;
}

static void
append_cut(GArray *words, const SundogTokenizer *tokenizer, const GPtrArray *vocabulary,
           const char *const *texts, const char *text)
{
    size_t n_most = MIN(strlen(text) - 1, find_longest(vocabulary));
    for (size_t n = 1; n <= n_most; n++) {
        bool is_inside = (text[n] & 0xC0) == 0x80;
        g_autoptr(GArray) rest = is_inside ? NULL : encode_rest(tokenizer, text + n);
        if (!rest || rest->len == 0)
            continue;
        g_autoptr(GArray) heads = find_heads(vocabulary, texts, text, n);
        append_breaker(words, heads, (const uint32_t *)(const void *)rest->data, rest->len);
    }
}

GArray *
sundog_dry_breakers_find(const SundogTokenizer *tokenizer, const char *const *texts)
{
    GArray *words = g_array_new(false, false, sizeof(uint32_t));
    if (!*texts)
        return words;
    g_autoptr(GPtrArray) vocabulary = list_bytes(tokenizer);
    g_autoptr(GArray) whole = g_array_new(false, false, sizeof(uint32_t));
    for (guint token = 0; token < vocabulary->len; token++)
        if (holds_any(vocabulary->pdata[token], texts))
            append_word(whole, token);
    append_breaker(words, whole, NULL, 0);
    for (const char *const *text = texts; *text; text++)
        append_cut(words, tokenizer, vocabulary, texts, *text);
    return words;
}

/* Beside the main loop */

typedef struct {
    SundogCoreText *core;
    const char *const *texts;
    SundogExchange *exchange; /* of the main context alone */
    GArray *words;
    void (*done)(GArray *words, void *data);
    void *data;
} Search;

/* The texts as one, each with its length before it. Owned by the caller. */
static char *
dup_name(const char *const *texts)
{
    GString *name = g_string_new(NULL);
    for (; *texts; texts++)
        g_string_append_printf(name, "%zu:%s", strlen(*texts), *texts);
    return g_string_free(name, false);
}

static void
find_in_thread(GTask *task, void *source, void *data, GCancellable *cancellable)
{
    Search *search = data;
    search->words = sundog_dry_breakers_find(search->core->tokenizer, search->texts);
    g_task_return_boolean(task, true);
}

static void
on_found(GObject *source, GAsyncResult *result, void *data)
{
    Search *search = data;
    GHashTable *remembered = search->core->breakers;
    if (g_hash_table_size(remembered) >= MAX_REMEMBERED)
        g_hash_table_remove_all(remembered);
    g_hash_table_replace(remembered, dup_name(search->texts), g_array_ref(search->words));
    search->done(search->words, search->data);
    g_array_unref(search->words);
    sundog_core_text_unref(search->core);
    sundog_exchange_unref(search->exchange);
    g_free(search);
}

void
sundog_dry_breakers_find_async(SundogCoreText *core, const char *const *texts,
                               SundogExchange *exchange, void (*done)(GArray *words, void *data),
                               void *data)
{
    g_autofree char *name = dup_name(texts);
    GArray *words = g_hash_table_lookup(core->breakers, name);
    if (words) {
        g_array_ref(words);
        done(words, data);
        g_array_unref(words);
        return;
    }
    Search *search = g_new0(Search, 1);
    *search = (Search){.core = sundog_core_text_ref(core),
                       .texts = texts,
                       .exchange = sundog_exchange_ref(exchange),
                       .done = done,
                       .data = data};
    sundog_exchange_set_gone(exchange, NULL, NULL);
    g_autoptr(GTask) task = g_task_new(NULL, NULL, on_found, search);
    g_task_set_task_data(task, search, NULL);
    g_task_run_in_thread(task, find_in_thread);
}
