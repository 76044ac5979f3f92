/* Listeners to events. */

#include "engine/server/events.h"

#include "engine/format/json.h"
#include <string.h>

struct SundogEvents {
    GPtrArray *exchanges;
};

/* What the client's going away takes out of the list. */
typedef struct {
    SundogEvents *events;
    SundogExchange *exchange;
} Listener;

SundogEvents *
sundog_events_new(void)
{
    SundogEvents *events = g_new0(SundogEvents, 1);
    events->exchanges = g_ptr_array_new_with_free_func(g_free);
    return events;
}

void
sundog_events_free(SundogEvents *events)
{
    if (!events)
        return;
    for (guint i = 0; i < events->exchanges->len; i++) {
        Listener *listener = events->exchanges->pdata[i];
        sundog_exchange_end(listener->exchange);
        sundog_exchange_unref(listener->exchange);
    }
    g_ptr_array_unref(events->exchanges);
    g_free(events);
}

bool
sundog_events_has_listeners(const SundogEvents *events)
{
    return events->exchanges->len > 0;
}

static void
on_gone(void *data)
{
    Listener *listener = data;
    SundogExchange *exchange = listener->exchange;
    g_ptr_array_remove(listener->events->exchanges, listener);
    sundog_exchange_unref(exchange);
}

void
sundog_events_add(SundogEvents *events, SundogExchange *exchange)
{
    Listener *listener = g_new0(Listener, 1);
    listener->events = events;
    listener->exchange = sundog_exchange_ref(exchange);
    g_ptr_array_add(events->exchanges, listener);
    sundog_exchange_begin_stream(exchange);
    sundog_exchange_set_gone(exchange, on_gone, listener);
}

static char *
print_event(const char *name, JsonObject *object)
{
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    json_node_take_object(node, object);
    g_autofree char *text = sundog_json_print(node, false);
    return g_strdup_printf("event: %s\ndata: %s\n\n", name, text);
}

void
sundog_events_publish(SundogEvents *events, const char *name, JsonObject *object)
{
    g_autofree char *text = print_event(name, object);
    /* One that is cut off while it is told leaves the list under way. */
    for (guint i = events->exchanges->len; i-- > 0;) {
        Listener *listener = events->exchanges->pdata[i];
        sundog_exchange_send(listener->exchange, text, strlen(text));
    }
}

void
sundog_events_send(SundogExchange *exchange, const char *name, JsonObject *object)
{
    g_autofree char *text = print_event(name, object);
    sundog_exchange_send(exchange, text, strlen(text));
}
