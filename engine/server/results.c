/* Texts on their way to results. */

#include "engine/server/results.h"

#include "engine/format/json-members.h"
#include "engine/server/fields.h"
#include "engine/server/vector.h"

#include <string.h>

/* Texts of one request that wait at the engine or are in its steps. */
#define WINDOW 32
/* In bytes: below this, encoding takes no longer than a step of the main loop may. */
#define LONG_BYTES (64 << 10)

/* What comes of one text. */
typedef struct {
    char *text;
    char *second; /* or NULL */
    GArray *tokens;
    uint32_t n_first; /* tokens of the first text, with what stands around them */
    SundogGeneration *generation;
} Item;

struct SundogResults {
    SundogExchange *exchange;
    SundogServer *server;
    SundogCoreText *core;
    SundogResultsOptions options;
    const char *prompt; /* before each text; the core's */
    GPtrArray *items;   /* of Item */
    size_t n_bytes;
    guint n_submitted;
    guint n_ended;
    int64_t started_us;
    bool is_submitting;
    bool is_over; /* replied, or the client has gone */
};

static void
item_free(gpointer data)
{
    Item *item = data;
    g_free(item->text);
    g_free(item->second);
    g_clear_pointer(&item->tokens, g_array_unref);
    sundog_generation_unref(item->generation);
    g_free(item);
}

/* NULL where the core has none of that name. */
static const char *
find_prompt(const SundogCoreText *core, const char *name)
{
    JsonObject *result = sundog_json_get_object(core->manifest, "result");
    JsonObject *prompts = sundog_json_get_object(result, "prompts");
    const char *usual = sundog_json_get_string(result, "prompt", NULL);
    return sundog_json_get_string(prompts, name ? name : usual ? usual : "", NULL);
}

/* The names of all, for an error; owned by the caller. */
static char *
dup_prompt_names(const SundogCoreText *core)
{
    JsonObject *result = sundog_json_get_object(core->manifest, "result");
    JsonObject *prompts = sundog_json_get_object(result, "prompts");
    g_autoptr(GList) names = prompts ? json_object_get_members(prompts) : NULL;
    g_autoptr(GString) list = g_string_new(NULL);
    for (GList *l = names; l; l = l->next)
        g_string_append_printf(list, "%s%s", l == names ? "" : ", ", (const char *)l->data);
    return g_string_free(g_steal_pointer(&list), FALSE);
}

bool
sundog_results_set_prompt(SundogResults *results, const char *name, SundogApiError **error)
{
    results->prompt = find_prompt(results->core, name);
    if (results->prompt || !name)
        return true;
    g_autofree char *names = dup_prompt_names(results->core);
    g_autofree char *known =
        g_strdup_printf("the model has no prompt of that name%s%s", *names ? ", but " : "", names);
    return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "prompt_name", "prompt_name",
                                known, NULL);
}

SundogResults *
sundog_results_new(SundogExchange *exchange, SundogCoreText *core, const char *purpose,
                   const SundogResultsOptions *options, SundogApiError **error)
{
    if (strcmp(core->purpose, purpose) != 0) {
        sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_PURPOSE, "model", core->name,
                             core->purpose, purpose, NULL);
        return NULL;
    }
    SundogResults *results = g_new0(SundogResults, 1);
    results->exchange = sundog_exchange_ref(exchange);
    results->server = sundog_exchange_get_server(exchange);
    results->core = sundog_core_text_ref(core);
    results->options = *options;
    results->items = g_ptr_array_new_with_free_func(item_free);
    results->started_us = g_get_monotonic_time();
    results->prompt = find_prompt(core, NULL);
    return results;
}

void
sundog_results_free(SundogResults *results)
{
    if (!results)
        return;
    if (results->options.free_data)
        results->options.free_data(results->options.data);
    g_ptr_array_unref(results->items);
    sundog_core_text_unref(results->core);
    sundog_exchange_unref(results->exchange);
    g_free(results);
}

bool
sundog_results_check_input(JsonObject *object, const char *key, SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, key);
    if (!node)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, key, key, NULL);
    return sundog_json_get_text(node) || JSON_NODE_HOLDS_ARRAY(node) ||
           sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_TYPE, key, key, "a text or a list",
                                NULL);
}

void
sundog_results_add(SundogResults *results, const char *text, const char *second)
{
    Item *item = g_new0(Item, 1);
    item->text =
        second || !results->prompt ? g_strdup(text) : g_strconcat(results->prompt, text, NULL);
    item->second = g_strdup(second);
    results->n_bytes += strlen(item->text) + (second ? strlen(second) : 0);
    g_ptr_array_add(results->items, item);
}

void
sundog_results_add_tokens(SundogResults *results, GArray *tokens)
{
    Item *item = g_new0(Item, 1);
    item->tokens = tokens;
    item->n_first = tokens->len;
    g_ptr_array_add(results->items, item);
}

/* Encoding */

static void
add_token(GArray *tokens, uint32_t token)
{
    if (token != SUNDOG_TOKEN_NONE)
        g_array_append_val(tokens, token);
}

/* BOS query EOS document EOS; SentencePiece's models, which are RoBERTa's, were trained with two between. */
static void
encode_pair(const SundogTokenizer *tokenizer, Item *item)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    add_token(item->tokens, vocabulary->bos);
    sundog_tokenizer_encode(tokenizer, item->text, strlen(item->text), SUNDOG_TOKENIZE_PLAIN,
                            item->tokens);
    add_token(item->tokens, vocabulary->eos);
    if (vocabulary->kind == SUNDOG_TOKENIZER_UNIGRAM)
        add_token(item->tokens, vocabulary->eos);
    item->n_first = item->tokens->len;
    sundog_tokenizer_encode(tokenizer, item->second, strlen(item->second), SUNDOG_TOKENIZE_PLAIN,
                            item->tokens);
    add_token(item->tokens, vocabulary->eos);
}

/* A pair in the words that the makers of a model trained it with: {query} and {document} are replaced, and
 * only what stands around them can make control tokens. */
static void
encode_with_template(const SundogCoreText *core, Item *item)
{
    static const char *const places[] = {"{query}", "{document}"};
    const char *texts[] = {item->text, item->second};
    g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(SundogTextSpan));
    const char *rest = core->pair_template;
    while (*rest) {
        const char *next = rest + strlen(rest);
        size_t which = G_N_ELEMENTS(places);
        for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
            const char *found = strstr(rest, places[i]);
            if (found && found < next) {
                next = found;
                which = i;
            }
        }
        SundogTextSpan span = {rest, (size_t)(next - rest), true};
        g_array_append_val(spans, span);
        if (which == G_N_ELEMENTS(places))
            break;
        SundogTextSpan own = {texts[which], strlen(texts[which]), false};
        g_array_append_val(spans, own);
        rest = next + strlen(places[which]);
    }
    sundog_tokenizer_encode_spans(core->tokenizer,
                                  (const SundogTextSpan *)(const void *)spans->data, spans->len,
                                  SUNDOG_TOKENIZE_PLAIN, item->tokens);
    item->n_first = item->tokens->len;
}

static void
encode_all(SundogResults *results)
{
    const SundogTokenizer *tokenizer = results->core->tokenizer;
    for (guint i = 0; i < results->items->len; i++) {
        Item *item = results->items->pdata[i];
        if (item->tokens)
            continue;
        item->tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        if (item->second && results->core->pair_template) {
            encode_with_template(results->core, item);
        } else if (item->second) {
            encode_pair(tokenizer, item);
        } else {
            sundog_tokenizer_encode(tokenizer, item->text, strlen(item->text), SUNDOG_TOKENIZE_ADD,
                                    item->tokens);
            item->n_first = item->tokens->len;
        }
    }
}

/* The end */

static void
end_all(SundogResults *results)
{
    const SundogApiKey *key = sundog_exchange_get_key(results->exchange);
    results->is_over = true;
    sundog_exchange_set_gone(results->exchange, NULL, NULL);
    for (guint i = 0; i < results->items->len; i++) {
        SundogGeneration *generation = ((Item *)results->items->pdata[i])->generation;
        if (!generation)
            continue;
        sundog_supervisor_abandon(results->server->supervisor, generation);
        sundog_generation_abandon(generation);
    }
    sundog_server_keep(results->server, results->core, results->options.keep_alive_ms);
    if (key)
        sundog_key_limits_end(results->server->key_limits, key, 0, g_get_monotonic_time());
}

static void
on_gone(void *data)
{
    SundogResults *results = data;
    end_all(results);
    if (!results->is_submitting)
        sundog_results_free(results);
}

static void submit_more(SundogResults *results);

static void
on_ended(SundogGeneration *generation, const SundogApiError *error, void *data)
{
    SundogResults *results = data;
    bool cancelled = generation->state == SUNDOG_GENERATION_CANCELLED;
    results->n_ended++;
    if (error || cancelled || !generation->result) {
        end_all(results);
        sundog_exchange_fail(results->exchange,
                             error ? sundog_api_error_copy(error)
                                   : sundog_api_error_new(SUNDOG_API_ERROR_INTERNAL, NULL,
                                                          "the request was stopped", NULL));
    } else if (results->n_ended == results->items->len) {
        end_all(results);
        results->options.reply(results, results->exchange, results->options.data);
    } else {
        submit_more(results);
        return;
    }
    if (!results->is_submitting)
        sundog_results_free(results);
}

static void
submit_next(SundogResults *results)
{
    const SundogApiKey *key = sundog_exchange_get_key(results->exchange);
    Item *item = results->items->pdata[results->n_submitted++];
    item->generation = sundog_generation_new("embd", results->options.endpoint, results->core,
                                             g_array_ref(item->tokens), NULL);
    item->generation->key = key ? g_strdup(key->name) : NULL;
    item->generation->wants_result = true;
    item->generation->n_first = item->n_first;
    item->generation->data = results;
    item->generation->calls = (SundogGenerationCalls){.ended = on_ended};
    sundog_supervisor_submit(results->server->supervisor, item->generation);
}

/* Submitting may end one at once, and with it all. */
static void
submit_more(SundogResults *results)
{
    if (results->is_submitting)
        return;
    results->is_submitting = true;
    while (!results->is_over && results->n_submitted < results->items->len &&
           results->n_submitted - results->n_ended < WINDOW)
        submit_next(results);
    results->is_submitting = false;
    if (results->is_over)
        sundog_results_free(results);
}

/* The beginning */

static SundogApiError *
check_lengths(SundogResults *results)
{
    uint32_t context = sundog_server_get_context(results->server, results->core);
    for (guint i = 0; i < results->items->len; i++) {
        Item *item = results->items->pdata[i];
        if (item->tokens->len == 0)
            return sundog_api_error_new(SUNDOG_API_ERROR_INVALID_VALUE, results->options.param,
                                        results->options.param, "a text has no tokens", NULL);
        if (item->tokens->len > context && results->options.truncates) {
            g_array_set_size(item->tokens, context);
            item->n_first = MIN(item->n_first, context);
        }
        if (item->tokens->len <= context)
            continue;
        g_autofree char *n = g_strdup_printf("%u", item->tokens->len);
        g_autofree char *most = g_strdup_printf("%u", context);
        return sundog_api_error_new(SUNDOG_API_ERROR_TEXT_LENGTH, results->options.param, n, most,
                                    NULL);
    }
    return NULL;
}

static SundogApiError *
check(SundogResults *results)
{
    const SundogApiKey *key = sundog_exchange_get_key(results->exchange);
    SundogApiError *error = check_lengths(results);
    if (!error && results->server->is_stopping)
        error = sundog_api_error_new(SUNDOG_API_ERROR_STOPPING, NULL, NULL);
    if (!error)
        error = sundog_supervisor_check(results->server->supervisor, results->core);
    if (!error && key)
        error = sundog_key_limits_check(results->server->key_limits, key, g_get_monotonic_time());
    return error;
}

static void
begin(SundogResults *results)
{
    const SundogApiKey *key = sundog_exchange_get_key(results->exchange);
    SundogApiError *error = check(results);
    if (error || sundog_exchange_is_over(results->exchange)) {
        if (error)
            sundog_exchange_fail(results->exchange, error);
        sundog_results_free(results);
        return;
    }
    if (key)
        sundog_key_limits_begin(results->server->key_limits, key,
                                sundog_results_get_n_tokens(results), g_get_monotonic_time());
    sundog_exchange_set_gone(results->exchange, on_gone, results);
    submit_more(results);
}

static void
encode_in_thread(GTask *task, void *source, void *data, GCancellable *cancellable)
{
    encode_all(data);
    g_task_return_boolean(task, true);
}

static void
on_encoded(GObject *source, GAsyncResult *result, void *data)
{
    begin(data);
}

void
sundog_results_start(SundogResults *results)
{
    if (results->n_bytes < LONG_BYTES) {
        encode_all(results);
        begin(results);
        return;
    }
    g_autoptr(GTask) task = g_task_new(NULL, NULL, on_encoded, results);
    g_task_set_task_data(task, results, NULL);
    g_task_run_in_thread(task, encode_in_thread);
}

/* What it came to */

guint
sundog_results_get_n(const SundogResults *results)
{
    return results->items->len;
}

const SundogCoreText *
sundog_results_get_core(const SundogResults *results)
{
    return results->core;
}

const float *
sundog_results_get(const SundogResults *results, guint index, uint32_t *n_values)
{
    const Item *item = results->items->pdata[index];
    *n_values = item->generation->result->len;
    return (const float *)(const void *)item->generation->result->data;
}

float *
sundog_results_dup_vector(const SundogResults *results, guint index, int64_t n_dimensions,
                          uint32_t *n_values)
{
    const float *values = sundog_results_get(results, index, n_values);
    if (n_dimensions > 0)
        *n_values = MIN(*n_values, (uint32_t)n_dimensions);
    return sundog_vector_normalize(values, *n_values);
}

guint
sundog_results_get_n_tokens(const SundogResults *results)
{
    guint n = 0;
    for (guint i = 0; i < results->items->len; i++)
        n += ((const Item *)results->items->pdata[i])->tokens->len;
    return n;
}

int64_t
sundog_results_get_us(const SundogResults *results)
{
    return g_get_monotonic_time() - results->started_us;
}
