/* POST /rerank, /v1/rerank: how well each of several documents answers a query, best first; with the fields
 * that llama-server, Jina and Cohere share. */

#include "engine/format/json-members.h"
#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/results.h"
#include "engine/server/routes.h"
#include "engine/server/vector.h"

typedef struct {
    int64_t n_top; /* 0: all */
    bool returns_documents;
    GPtrArray *documents; /* of texts, owned */
} Form;

typedef struct {
    guint index;
    double score;
} Ranked;

static void
form_free(void *data)
{
    Form *form = data;
    g_ptr_array_unref(form->documents);
    g_free(form);
}

/* The best first, and of equals the one that came first. */
static int
compare(const void *left, const void *right)
{
    const Ranked *a = left, *b = right;
    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return a->index > b->index ? 1 : -1;
}

static void
append_ranked(GString *json, const Ranked *ranked, const Form *form)
{
    char score[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(json, "{\"index\":%u,\"relevance_score\":%s", ranked->index,
                           g_ascii_formatd(score, sizeof score, "%.9g", ranked->score));
    if (form->returns_documents) {
        g_string_append(json, ",\"document\":{\"text\":");
        sundog_json_text_append(json, form->documents->pdata[ranked->index]);
        g_string_append_c(json, '}');
    }
    g_string_append_c(json, '}');
}

static void
reply(SundogResults *results, SundogExchange *exchange, void *data)
{
    const Form *form = data;
    guint n = sundog_results_get_n(results), n_tokens = sundog_results_get_n_tokens(results);
    g_autofree Ranked *ranked = g_new(Ranked, n);
    for (guint i = 0; i < n; i++) {
        uint32_t n_values;
        const float *values = sundog_results_get(results, i, &n_values);
        ranked[i] = (Ranked){i, sundog_score_of(values, n_values)};
    }
    qsort(ranked, n, sizeof *ranked, compare);
    if (form->n_top > 0)
        n = MIN(n, (guint)form->n_top);
    g_autoptr(GString) json = g_string_new("{\"model\":");
    sundog_json_text_append(json, sundog_results_get_core(results)->name);
    g_string_append_printf(
        json,
        ",\"object\":\"list\",\"usage\":{\"prompt_tokens\":%u,\"total_tokens\":%u},\"results\":[",
        n_tokens, n_tokens);
    for (guint i = 0; i < n; i++) {
        g_string_append(json, i > 0 ? "," : "");
        append_ranked(json, &ranked[i], form);
    }
    g_string_append(json, "]}");
    sundog_exchange_reply_text(exchange, SOUP_STATUS_OK, "application/json", json->str, json->len);
}

/* A text, or an object with one. */
static const char *
get_document(JsonNode *node)
{
    if (JSON_NODE_HOLDS_OBJECT(node))
        node = json_object_get_member(json_node_get_object(node), "text");
    return sundog_json_get_text(node);
}

static bool
read_form(Form *form, const char **query, JsonObject *object, SundogApiError **error)
{
    JsonArray *documents = NULL;
    if (!sundog_field_read_text(object, SUNDOG_FIELD_QUERY, query, error) ||
        !sundog_field_read_array(object, SUNDOG_FIELD_DOCUMENTS, &documents, error) ||
        !sundog_field_read_integer(object, SUNDOG_FIELD_TOP_N, &form->n_top, error) ||
        !sundog_field_read_boolean(object, SUNDOG_FIELD_RETURN_DOCUMENTS, &form->returns_documents,
                                   error))
        return false;
    if (!*query)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "query", "query", NULL);
    if (!documents)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "documents", "documents",
                                    NULL);
    guint n = json_array_get_length(documents);
    for (guint i = 0; i < n && n <= SUNDOG_RESULTS_MAX; i++) {
        const char *text = get_document(json_array_get_element(documents, i));
        if (!text)
            break;
        g_ptr_array_add(form->documents, g_strdup(text));
    }
    return (n > 0 && form->documents->len == n) ||
           sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "documents", "documents",
                                "they are 1 to 2048 texts, or objects with a text", NULL);
}

void
sundog_rerank(SundogExchange *exchange)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogServer *server = sundog_exchange_get_server(exchange);
    SundogApiError *error = NULL;
    const char *model = NULL, *query = NULL;
    Form *form = g_new0(Form, 1);
    form->documents = g_ptr_array_new_with_free_func(g_free);
    const SundogResultsOptions options = {.endpoint = "/v1/rerank",
                                          .param = "documents",
                                          .keep_alive_ms = sundog_server_get_keep_alive_ms(server),
                                          .reply = reply,
                                          .data = form,
                                          .free_data = form_free};
    SundogResults *results = NULL;
    g_autoptr(SundogCoreText) core = NULL;
    if (object && sundog_field_read_text(object, SUNDOG_FIELD_MODEL, &model, &error) &&
        read_form(form, &query, object, &error))
        core = sundog_server_dup_core(exchange, model, &error);
    if (core)
        results = sundog_results_new(exchange, core, "rerank", &options, &error);
    if (!results) {
        form_free(form);
        if (error)
            sundog_exchange_fail(exchange, error);
        return;
    }
    for (guint i = 0; i < form->documents->len; i++)
        sundog_results_add(results, query, form->documents->pdata[i]);
    sundog_results_start(results);
}
