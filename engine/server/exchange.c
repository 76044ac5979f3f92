/* Exchanges. */

#include "engine/server/exchange.h"

#include "engine/format/json.h"
#include "engine/library/timer.h"
#include "engine/server/listener.h"
#include "engine/server/service.h"
#include <glib-unix.h>
#include <poll.h>
#include <string.h>

/* What may wait for a client that does not read: minutes of an answer, before it is cut off. */
#define MAX_WAITING_BYTES (4u << 20)
/* Shorter bodies are read at once. */
#define LONG_BODY_BYTES (64 << 10)

struct SundogExchange {
    int n_references;
    SundogServer *server;
    SoupServerMessage *message;
    char *argument;
    SundogDialect dialect;
    JsonNode *body;
    SundogApiKey *key; /* or NULL */
    size_t n_body_bytes;
    bool has_shared_body;
    char *ping; /* NULL: the dialect's */
    bool is_paused;
    bool is_stream;
    bool is_over;
    GString *pending; /* of this turn of the main loop */
    guint flush_source;
    guint ping_source;
    guint gone_source;
    int64_t sent_at;
    size_t n_waiting_bytes; /* handed to libsoup and not yet written */
    void (*gone)(void *data);
    void *gone_data;
};

static void
mark_over(SundogExchange *exchange)
{
    exchange->is_over = true;
    sundog_timer_stop(&exchange->flush_source);
    sundog_timer_stop(&exchange->ping_source);
    sundog_timer_stop(&exchange->gone_source);
}

/* The client is not there any more: whoever works for it hears of it now. */
static void
lose(SundogExchange *exchange, bool is_finished)
{
    if (exchange->is_over)
        return;
    sundog_exchange_ref(exchange);
    mark_over(exchange);
    if (exchange->is_stream)
        soup_message_body_complete(soup_server_message_get_response_body(exchange->message));
    else
        soup_server_message_set_status(exchange->message, SOUP_STATUS_SERVICE_UNAVAILABLE, NULL);
    GSocket *socket = sundog_listener_get_socket(exchange->message);
    if (socket)
        g_socket_shutdown(socket, true, true, NULL);
    /* libsoup itself waits for the answer or the next chunk; awake, it finds the socket closed. */
    if (!is_finished && (exchange->is_paused || exchange->is_stream))
        soup_server_message_unpause(exchange->message);
    exchange->is_paused = false;
    if (exchange->gone)
        exchange->gone(exchange->gone_data);
    sundog_exchange_unref(exchange);
}

/* libsoup lets go of the message: answered, or the connection broke. */
static void
on_finished(SoupServerMessage *message, void *data)
{
    SundogExchange *exchange = data;
    sundog_listener_set_answering(message, false);
    lose(exchange, true);
    g_signal_handlers_disconnect_by_data(message, exchange);
    sundog_exchange_unref(exchange);
}

static void
on_written(SoupServerMessage *message, guint n_bytes, void *data)
{
    SundogExchange *exchange = data;
    exchange->n_waiting_bytes -= MIN(exchange->n_waiting_bytes, n_bytes);
}

/* POLLRDHUP, unlike a readable socket, tells a closed connection from a pipelined request. */
static gboolean
on_hang_up(int fd, GIOCondition condition, void *data)
{
    SundogExchange *exchange = data;
    exchange->gone_source = 0;
    lose(exchange, false);
    return G_SOURCE_REMOVE;
}

SundogExchange *
sundog_exchange_new(SundogServer *server, SoupServerMessage *message)
{
    SundogExchange *exchange = g_new0(SundogExchange, 1);
    exchange->n_references = 2; /* the handler's, and the message's until it is finished */
    exchange->server = server;
    exchange->message = g_object_ref(message);
    exchange->dialect = sundog_dialect_of(message);
    exchange->pending = g_string_new(NULL);
    sundog_listener_set_answering(message, true);
    g_signal_connect(message, "finished", G_CALLBACK(on_finished), exchange);
    g_signal_connect(message, "wrote-body-data", G_CALLBACK(on_written), exchange);
    return exchange;
}

SundogExchange *
sundog_exchange_ref(SundogExchange *exchange)
{
    exchange->n_references++;
    return exchange;
}

static void
free_in_thread(GTask *task, void *source, void *data, GCancellable *cancellable)
{
    json_node_unref(data);
    g_task_return_boolean(task, true);
}

/* json-glib counts references without a lock, so a thread may free what nobody else has parts of. */
static void
free_body(SundogExchange *exchange)
{
    JsonNode *body = g_steal_pointer(&exchange->body);
    if (!body || exchange->n_body_bytes < LONG_BODY_BYTES || exchange->has_shared_body) {
        g_clear_pointer(&body, json_node_unref);
        return;
    }
    g_autoptr(GTask) task = g_task_new(NULL, NULL, NULL, NULL);
    g_task_set_task_data(task, body, NULL);
    g_task_run_in_thread(task, free_in_thread);
}

void
sundog_exchange_share_body(SundogExchange *exchange)
{
    exchange->has_shared_body = true;
}

void
sundog_exchange_unref(SundogExchange *exchange)
{
    if (!exchange || --exchange->n_references > 0)
        return;
    mark_over(exchange);
    g_object_unref(exchange->message);
    free_body(exchange);
    sundog_api_key_unref(exchange->key);
    g_string_free(exchange->pending, true);
    g_free(exchange->argument);
    g_free(exchange->ping);
    g_free(exchange);
}

SundogServer *
sundog_exchange_get_server(const SundogExchange *exchange)
{
    return exchange->server;
}

SoupServerMessage *
sundog_exchange_get_message(const SundogExchange *exchange)
{
    return exchange->message;
}

SundogDialect
sundog_exchange_get_dialect(const SundogExchange *exchange)
{
    return exchange->dialect;
}

const char *
sundog_exchange_get_path(const SundogExchange *exchange)
{
    return g_uri_get_path(soup_server_message_get_uri(exchange->message));
}

const char *
sundog_exchange_get_argument(const SundogExchange *exchange)
{
    return exchange->argument;
}

SundogApiKey *
sundog_exchange_get_key(const SundogExchange *exchange)
{
    return exchange->key;
}

void
sundog_exchange_set_key(SundogExchange *exchange, SundogApiKey *key)
{
    exchange->key = key ? sundog_api_key_ref(key) : NULL;
}

void
sundog_exchange_set_argument(SundogExchange *exchange, const char *argument)
{
    g_free(exchange->argument);
    exchange->argument = g_strdup(argument);
}

char *
sundog_exchange_dup_query(const SundogExchange *exchange, const char *key)
{
    const char *query = g_uri_get_query(soup_server_message_get_uri(exchange->message));
    if (!query)
        return NULL;
    g_autoptr(GHashTable) values = soup_form_decode(query);
    return g_strdup(g_hash_table_lookup(values, key));
}

static JsonNode *
new_empty_object(void)
{
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);
    json_node_take_object(node, json_object_new());
    return node;
}

/* Parsing: what it needs and what comes of it; on any thread. */
typedef struct {
    SundogExchange *exchange;
    void (*then)(SundogExchange *exchange);
    GBytes *bytes;
    JsonNode *node;
    GError *error;
} Parsing;

static void
parse(Parsing *parsing)
{
    size_t n_bytes = 0;
    const char *text = g_bytes_get_data(parsing->bytes, &n_bytes);
    parsing->node =
        n_bytes ? sundog_json_parse(text, n_bytes, &parsing->error) : new_empty_object();
}

static void
parse_in_thread(GTask *task, void *source, void *data, GCancellable *cancellable)
{
    parse(data);
    g_task_return_boolean(task, true);
}

/* The parsed tree, or NULL where the failure has been replied. */
static void
take_parsed(Parsing *parsing)
{
    SundogExchange *exchange = parsing->exchange;
    exchange->body = g_steal_pointer(&parsing->node);
    if (!exchange->body)
        sundog_exchange_fail(exchange, sundog_api_error_new(SUNDOG_API_ERROR_BAD_JSON, NULL,
                                                            parsing->error->message, NULL));
    g_clear_pointer(&parsing->bytes, g_bytes_unref);
    g_clear_error(&parsing->error);
}

static void
on_parsed(GObject *source, GAsyncResult *result, void *data)
{
    Parsing *parsing = data;
    g_autoptr(SundogExchange) exchange = parsing->exchange;
    /* The client may have left, and the server with it. */
    take_parsed(parsing);
    if (!exchange->is_over)
        parsing->then(exchange);
    g_free(parsing);
}

static bool
begin_parsing(SundogExchange *exchange, Parsing *parsing)
{
    SoupMessageBody *body = soup_server_message_get_request_body(exchange->message);
    /* One that was too long was not kept, and its client has its answer. */
    if (!soup_message_body_get_accumulate(body)) {
        sundog_exchange_fail(exchange,
                             sundog_api_error_new(SUNDOG_API_ERROR_TOO_LARGE, NULL, "", NULL));
        return false;
    }
    parsing->exchange = exchange;
    parsing->bytes = soup_message_body_flatten(body);
    exchange->n_body_bytes = g_bytes_get_size(parsing->bytes);
    return true;
}

void
sundog_exchange_read(SundogExchange *exchange, void (*then)(SundogExchange *exchange))
{
    goffset n_bytes = soup_server_message_get_request_body(exchange->message)->length;
    if (n_bytes < LONG_BODY_BYTES) {
        then(exchange);
        return;
    }
    Parsing *parsing = g_new0(Parsing, 1);
    if (!begin_parsing(exchange, parsing)) {
        g_free(parsing);
        return;
    }
    parsing->then = then;
    sundog_exchange_ref(exchange);
    sundog_exchange_set_gone(exchange, NULL, NULL);
    g_autoptr(GTask) task = g_task_new(NULL, NULL, on_parsed, parsing);
    g_task_set_task_data(task, parsing, NULL);
    g_task_run_in_thread(task, parse_in_thread);
}

JsonObject *
sundog_exchange_get_object(SundogExchange *exchange)
{
    Parsing parsing = {0};
    if (!exchange->body) {
        if (!begin_parsing(exchange, &parsing))
            return NULL;
        parse(&parsing);
        take_parsed(&parsing);
    }
    if (!exchange->body)
        return NULL;
    if (!JSON_NODE_HOLDS_OBJECT(exchange->body)) {
        sundog_exchange_fail(exchange,
                             sundog_api_error_new(SUNDOG_API_ERROR_NO_OBJECT, NULL, NULL));
        return NULL;
    }
    return json_node_get_object(exchange->body);
}

size_t
sundog_exchange_get_body_bytes(const SundogExchange *exchange)
{
    return exchange->n_body_bytes;
}

/* Holds the answer back until it is there, and watches the client meanwhile. */
void
sundog_exchange_set_gone(SundogExchange *exchange, void (*gone)(void *data), void *data)
{
    if (exchange->is_over)
        return;
    exchange->gone = gone;
    exchange->gone_data = data;
    GSocket *socket = sundog_listener_get_socket(exchange->message);
    if (socket && !exchange->gone_source) {
        GSource *source = g_unix_fd_source_new(g_socket_get_fd(socket),
                                               (GIOCondition)(POLLRDHUP | POLLHUP | POLLERR));
        sundog_timer_start_source(&exchange->gone_source, source, G_SOURCE_FUNC(on_hang_up),
                                  exchange);
    }
    if (!exchange->is_stream && !exchange->is_paused) {
        soup_server_message_pause(exchange->message);
        exchange->is_paused = true;
    }
}

bool
sundog_exchange_is_over(const SundogExchange *exchange)
{
    return exchange->is_over;
}

bool
sundog_exchange_is_stream(const SundogExchange *exchange)
{
    return exchange->is_stream;
}

void
sundog_exchange_reply_text(SundogExchange *exchange, unsigned status, const char *type,
                           const char *text, size_t n_bytes)
{
    if (exchange->is_over)
        return;
    mark_over(exchange);
    soup_server_message_set_status(exchange->message, status, NULL);
    soup_server_message_set_response(exchange->message, type, SOUP_MEMORY_COPY, text, n_bytes);
    if (exchange->is_paused)
        soup_server_message_unpause(exchange->message);
    exchange->is_paused = false;
}

void
sundog_exchange_reply(SundogExchange *exchange, unsigned status, JsonNode *node)
{
    g_autofree char *text = sundog_json_print(node, false);
    json_node_unref(node);
    sundog_exchange_reply_text(exchange, status, "application/json", text, strlen(text));
}

void
sundog_exchange_reply_object(SundogExchange *exchange, unsigned status, JsonObject *object)
{
    JsonNode *node = json_node_new(JSON_NODE_OBJECT);
    json_node_take_object(node, object);
    sundog_exchange_reply(exchange, status, node);
}

void
sundog_exchange_fail(SundogExchange *exchange, SundogApiError *error)
{
    g_autoptr(SundogApiError) owned = error;
    g_autofree char *text = sundog_dialect_print_error(exchange->dialect, owned);
    if (exchange->is_stream) {
        g_autofree char *event = sundog_dialect_print_last_event(exchange->dialect, owned);
        sundog_exchange_send(exchange, event, strlen(event));
        sundog_exchange_end(exchange);
        return;
    }
    SoupMessageHeaders *headers = soup_server_message_get_response_headers(exchange->message);
    g_autofree char *seconds = g_strdup_printf("%u", owned->retry_after_s);
    if (owned->retry_after_s)
        soup_message_headers_replace(headers, "Retry-After", seconds);
    if (owned->code == SUNDOG_API_ERROR_WRONG_KEY)
        soup_message_headers_replace(headers, "WWW-Authenticate", "Bearer");
    sundog_exchange_reply_text(exchange, sundog_api_error_get_status(owned), "application/json",
                               text, strlen(text));
}

static gboolean
on_ping_due(void *data)
{
    SundogExchange *exchange = data;
    const char *ping = exchange->ping ? exchange->ping : sundog_dialect_get_ping(exchange->dialect);
    if (ping && g_get_monotonic_time() - exchange->sent_at >=
                    exchange->server->options.ping_seconds * G_USEC_PER_SEC)
        sundog_exchange_send(exchange, ping, strlen(ping));
    return G_SOURCE_CONTINUE;
}

void
sundog_exchange_set_ping(SundogExchange *exchange, const char *text)
{
    g_free(exchange->ping);
    exchange->ping = g_strdup(text);
}

void
sundog_exchange_begin_stream(SundogExchange *exchange)
{
    if (exchange->is_over || exchange->is_stream)
        return;
    exchange->is_stream = true;
    soup_server_message_set_status(exchange->message, SOUP_STATUS_OK, NULL);
    SoupMessageHeaders *headers = soup_server_message_get_response_headers(exchange->message);
    /* HTTP/1.0 knows no chunks: there the end of the connection is the end of the answer. */
    bool has_chunks = soup_server_message_get_http_version(exchange->message) != SOUP_HTTP_1_0;
    soup_message_headers_set_encoding(headers,
                                      has_chunks ? SOUP_ENCODING_CHUNKED : SOUP_ENCODING_EOF);
    soup_message_headers_replace(headers, "Content-Type",
                                 sundog_dialect_get_stream_type(exchange->dialect));
    soup_message_headers_replace(headers, "Cache-Control", "no-cache");
    soup_message_headers_replace(headers, "X-Accel-Buffering", "no");
    soup_message_body_set_accumulate(soup_server_message_get_response_body(exchange->message),
                                     false);
    exchange->sent_at = g_get_monotonic_time();
    sundog_timer_start_source(&exchange->ping_source, g_timeout_source_new_seconds(1), on_ping_due,
                              exchange);
    if (exchange->is_paused)
        soup_server_message_unpause(exchange->message);
    exchange->is_paused = false;
}

static void
flush(SundogExchange *exchange)
{
    sundog_timer_stop(&exchange->flush_source);
    if (exchange->pending->len == 0)
        return;
    SoupMessageBody *body = soup_server_message_get_response_body(exchange->message);
    size_t n_bytes = exchange->pending->len;
    exchange->n_waiting_bytes += n_bytes;
    soup_message_body_append(body, SOUP_MEMORY_TAKE, g_string_free(exchange->pending, false),
                             n_bytes);
    exchange->pending = g_string_new(NULL);
    exchange->sent_at = g_get_monotonic_time();
    soup_server_message_unpause(exchange->message);
}

static gboolean
on_flush_due(void *data)
{
    SundogExchange *exchange = data;
    exchange->flush_source = 0;
    sundog_exchange_ref(exchange);
    flush(exchange);
    sundog_exchange_unref(exchange);
    return G_SOURCE_REMOVE;
}

void
sundog_exchange_send(SundogExchange *exchange, const char *text, size_t n_bytes)
{
    if (exchange->is_over || !exchange->is_stream)
        return;
    g_string_append_len(exchange->pending, text, (gssize)n_bytes);
    if (exchange->n_waiting_bytes + exchange->pending->len > MAX_WAITING_BYTES) {
        lose(exchange, false);
        return;
    }
    if (!exchange->flush_source) {
        /* With the next turn: after what one read of the engine's pipe brought, however fast the
         * engine goes on. */
        GSource *source = g_idle_source_new();
        g_source_set_priority(source, G_PRIORITY_DEFAULT);
        sundog_timer_start_source(&exchange->flush_source, source, on_flush_due, exchange);
    }
}

void
sundog_exchange_end(SundogExchange *exchange)
{
    if (exchange->is_over || !exchange->is_stream)
        return;
    flush(exchange);
    mark_over(exchange);
    soup_message_body_complete(soup_server_message_get_response_body(exchange->message));
    soup_server_message_unpause(exchange->message);
}
