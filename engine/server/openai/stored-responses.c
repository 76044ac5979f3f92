/* Responses that are kept. */

#include "engine/server/openai/stored-responses.h"

#include "engine/format/json.h"
#include <string.h>

#define MAX_RESPONSES 1000
#define MAX_BYTES (64u << 20)

typedef struct {
    JsonObject *response;
    JsonArray *conversation;
    size_t n_bytes; /* as text; about what it takes */
} Stored;

struct SundogStoredResponses {
    GQueue list; /* Stored, newest first */
    size_t n_bytes;
};

static size_t
measure(JsonArray *conversation)
{
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_ARRAY);
    json_node_set_array(node, conversation);
    g_autofree char *text = sundog_json_print(node, false);
    return strlen(text);
}

static void
drop(SundogStoredResponses *stored, GList *link)
{
    Stored *entry = link->data;
    stored->n_bytes -= entry->n_bytes;
    json_object_unref(entry->response);
    json_array_unref(entry->conversation);
    g_free(entry);
    g_queue_delete_link(&stored->list, link);
}

SundogStoredResponses *
sundog_stored_responses_new(void)
{
    return g_new0(SundogStoredResponses, 1);
}

void
sundog_stored_responses_free(SundogStoredResponses *stored)
{
    if (!stored)
        return;
    while (stored->list.tail)
        drop(stored, stored->list.tail);
    g_free(stored);
}

static GList *
find(const SundogStoredResponses *stored, const char *id)
{
    for (GList *link = stored->list.head; link; link = link->next) {
        const Stored *entry = link->data;
        if (strcmp(json_object_get_string_member(entry->response, "id"), id) == 0)
            return link;
    }
    return NULL;
}

void
sundog_stored_responses_put(SundogStoredResponses *stored, JsonObject *response,
                            JsonArray *conversation)
{
    sundog_stored_responses_remove(stored, json_object_get_string_member(response, "id"));
    Stored *entry = g_new0(Stored, 1);
    *entry = (Stored){response, conversation, measure(conversation)};
    g_queue_push_head(&stored->list, entry);
    stored->n_bytes += entry->n_bytes;
    while (stored->list.length > 1 &&
           (stored->list.length > MAX_RESPONSES || stored->n_bytes > MAX_BYTES))
        drop(stored, stored->list.tail);
}

JsonObject *
sundog_stored_responses_get(const SundogStoredResponses *stored, const char *id)
{
    GList *link = find(stored, id);
    return link ? ((Stored *)link->data)->response : NULL;
}

JsonArray *
sundog_stored_responses_get_conversation(const SundogStoredResponses *stored, const char *id)
{
    GList *link = find(stored, id);
    return link ? ((Stored *)link->data)->conversation : NULL;
}

bool
sundog_stored_responses_remove(SundogStoredResponses *stored, const char *id)
{
    GList *link = find(stored, id);
    if (link)
        drop(stored, link);
    return link != NULL;
}
