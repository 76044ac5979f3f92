/*
 * Transfers. A small machine of callbacks: start_try, on_response, read_more, on_read, on_appended,
 * and back to read_more; every way out of a try is end_try, and out of the transfer end_transfer.
 */

#include "engine/library/transfer.h"

#include "engine/library/response.h"
#include "engine/library/timer.h"
#include <string.h>

#define READ_BYTES (1u << 20)
#define MAX_MOVES 10
#define MAX_BACKOFF_MS 30000
#define PROGRESS_US (100 * G_TIME_SPAN_MILLISECOND)
/* The rate is a mean over about this long. */
#define RATE_SECONDS 3.0
/* How long appended bytes may wait for the disk while the line is silent. */
#define IDLE_SYNC_MS 500
/* The state beside the partial file must fit too. */
#define SPARE_BYTES (64u << 10)

typedef struct {
    SundogTransferOptions options;
    char *url;
    char *token;
    char *detail; /* owns the progress's text */
    uint64_t total;
    GCancellable *try_cancellable; /* ends the try alone */
    gulong cancel_handler;
    SoupMessage *message;
    GInputStream *body;
    GUri *place; /* where this try's request goes */
    unsigned n_moves;
    unsigned n_tries; /* since the last byte */
    guint stall_timer;
    guint sync_timer;
    guint backoff_timer;
    gulong network_handler;
    bool is_stalled;
    uint64_t n_bytes_rated;
    int64_t rated_at;
    int64_t progress_at;
    double bytes_per_second;
} Transfer;

static void start_try(GTask *task);
static void send_request(GTask *task);
static void read_more(GTask *task);

static void
clear_try(Transfer *transfer)
{
    sundog_timer_stop(&transfer->stall_timer);
    sundog_timer_stop(&transfer->sync_timer);
    g_clear_object(&transfer->body);
    g_clear_object(&transfer->message);
    g_clear_pointer(&transfer->place, g_uri_unref);
}

static void
transfer_free(void *data)
{
    Transfer *transfer = data;
    clear_try(transfer);
    g_clear_object(&transfer->try_cancellable);
    g_free(transfer->url);
    g_free(transfer->token);
    g_free(transfer->detail);
    g_free(transfer);
}

static void
tell(Transfer *transfer, SundogPullPhase phase)
{
    if (!transfer->options.progress)
        return;
    SundogPullProgress progress = {
        .phase = phase,
        .n_bytes_done = sundog_partial_get_bytes(transfer->options.partial),
        .n_bytes_total = transfer->total,
        .bytes_per_second = transfer->bytes_per_second,
        .detail = phase == SUNDOG_PULL_WAITING ? transfer->detail : NULL};
    transfer->options.progress(&progress, transfer->options.data);
}

static void
measure_rate(Transfer *transfer)
{
    int64_t now = g_get_monotonic_time();
    uint64_t n_bytes = sundog_partial_get_bytes(transfer->options.partial);
    double seconds = (double)(now - transfer->rated_at) / G_USEC_PER_SEC;
    if (seconds < 0.05)
        return;
    double rate = (double)(n_bytes - transfer->n_bytes_rated) / seconds;
    double weight = MIN(seconds / RATE_SECONDS, 1);
    transfer->bytes_per_second = transfer->bytes_per_second == 0
                                     ? rate
                                     : rate * weight + transfer->bytes_per_second * (1 - weight);
    transfer->n_bytes_rated = n_bytes;
    transfer->rated_at = now;
}

/* Takes the task's last reference. */
static void
end_transfer(GTask *task, GError *error)
{
    Transfer *transfer = g_task_get_task_data(task);
    clear_try(transfer);
    sundog_timer_stop(&transfer->backoff_timer);
    if (transfer->network_handler)
        g_signal_handler_disconnect(g_network_monitor_get_default(), transfer->network_handler);
    transfer->network_handler = 0;
    g_cancellable_disconnect(g_task_get_cancellable(task), transfer->cancel_handler);
    transfer->cancel_handler = 0;
    /* What came until now is kept whatever the reason; the first error is the one to tell. */
    sundog_partial_sync(transfer->options.partial, error ? NULL : &error);
    if (error)
        g_task_return_error(task, error);
    else
        g_task_return_boolean(task, true);
    g_object_unref(task);
}

static void
go_on(GTask *task)
{
    Transfer *transfer = g_task_get_task_data(task);
    sundog_timer_stop(&transfer->backoff_timer);
    if (transfer->network_handler)
        g_signal_handler_disconnect(g_network_monitor_get_default(), transfer->network_handler);
    transfer->network_handler = 0;
    start_try(task);
}

static gboolean
on_backoff_over(void *data)
{
    Transfer *transfer = g_task_get_task_data(data);
    transfer->backoff_timer = 0;
    go_on(data);
    return G_SOURCE_REMOVE;
}

static void
on_network_changed(GNetworkMonitor *monitor, gboolean is_available, void *data)
{
    if (is_available)
        go_on(data);
}

static unsigned
backoff_ms(const Transfer *transfer, unsigned wait_seconds)
{
    uint64_t ms = transfer->options.first_backoff_ms;
    for (unsigned i = 1; i < transfer->n_tries && ms < MAX_BACKOFF_MS; i++)
        ms *= 2;
    return (unsigned)MAX(MIN(ms, MAX_BACKOFF_MS), (uint64_t)wait_seconds * 1000);
}

static bool
is_loopback(GUri *uri)
{
    const char *host = g_uri_get_host(uri);
    g_autoptr(GInetAddress) address = g_inet_address_new_from_string(host);
    return strcmp(host, "localhost") == 0 || (address && g_inet_address_get_is_loopback(address));
}

/* Whether the line's end is known to be out of reach, which a loopback or local mirror never is. */
static bool
is_offline(const Transfer *transfer)
{
    g_autoptr(GUri) source = g_uri_parse(transfer->url, SOUP_HTTP_URI_FLAGS, NULL);
    return !is_loopback(source) &&
           !g_network_monitor_get_network_available(g_network_monitor_get_default());
}

/* While the machine itself is offline, tries cost nothing and so are not counted. */
static void
wait_and_retry(GTask *task, GError *error, unsigned wait_seconds)
{
    Transfer *transfer = g_task_get_task_data(task);
    GNetworkMonitor *monitor = g_network_monitor_get_default();
    bool is_online = !is_offline(transfer);
    if (is_online && ++transfer->n_tries >= transfer->options.max_tries) {
        g_prefix_error(&error, "Given up after %u %s; what came is kept: ", transfer->n_tries,
                       transfer->n_tries == 1 ? "try" : "tries");
        end_transfer(task, error);
        return;
    }
    unsigned ms = backoff_ms(transfer, wait_seconds);
    g_free(transfer->detail);
    transfer->detail =
        is_online ? g_strdup_printf("%s; next try in %.0f s", error->message, MAX(1.0, ms / 1000.0))
                  : g_strdup("There is no network");
    g_error_free(error);
    transfer->bytes_per_second = 0;
    tell(transfer, SUNDOG_PULL_WAITING);
    transfer->network_handler =
        g_signal_connect(monitor, "network-changed", G_CALLBACK(on_network_changed), task);
    sundog_timer_start(&transfer->backoff_timer, ms, on_backoff_over, task);
}

static bool
may_be_retried(const GError *error)
{
    if (error->domain == SUNDOG_LIBRARY_ERROR)
        return error->code == SUNDOG_LIBRARY_ERROR_NETWORK;
    /* A certificate that is not trusted will not be so in a minute. */
    return error->domain != G_TLS_ERROR;
}

/* Takes the error. */
static void
end_try(GTask *task, GError *error, unsigned wait_seconds)
{
    Transfer *transfer = g_task_get_task_data(task);
    clear_try(transfer);
    if (g_cancellable_is_cancelled(g_task_get_cancellable(task))) {
        g_clear_error(&error);
        g_cancellable_set_error_if_cancelled(g_task_get_cancellable(task), &error);
        end_transfer(task, error);
        return;
    }
    if (transfer->is_stalled) {
        g_clear_error(&error);
        g_set_error(&error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NETWORK,
                    "Nothing came for %u s", transfer->options.stall_seconds);
    }
    sundog_partial_sync(transfer->options.partial, NULL);
    if (may_be_retried(error)) {
        if (error->domain != SUNDOG_LIBRARY_ERROR) {
            GError *own = g_error_new(SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NETWORK, "%s",
                                      error->message);
            g_error_free(error);
            error = own;
        }
        wait_and_retry(task, error, wait_seconds);
    } else {
        end_transfer(task, error);
    }
}

static gboolean
on_stalled(void *data)
{
    Transfer *transfer = g_task_get_task_data(data);
    transfer->stall_timer = 0;
    transfer->is_stalled = true;
    g_cancellable_cancel(transfer->try_cancellable);
    return G_SOURCE_REMOVE;
}

static void
arm_stall_timer(GTask *task)
{
    Transfer *transfer = g_task_get_task_data(task);
    sundog_timer_stop(&transfer->stall_timer);
    sundog_timer_start(&transfer->stall_timer, transfer->options.stall_seconds * 1000, on_stalled,
                       task);
}

static gboolean
on_silent(void *data)
{
    Transfer *transfer = g_task_get_task_data(data);
    transfer->sync_timer = 0;
    sundog_partial_sync(transfer->options.partial, NULL);
    measure_rate(transfer);
    tell(transfer, SUNDOG_PULL_TRANSFER);
    return G_SOURCE_REMOVE;
}

static void
on_appended(GObject *source, GAsyncResult *result, void *data)
{
    GTask *task = data;
    Transfer *transfer = g_task_get_task_data(task);
    GError *error = NULL;
    if (!g_task_propagate_boolean(G_TASK(result), &error)) {
        end_try(task, error, 0);
        return;
    }
    transfer->n_tries = 0;
    measure_rate(transfer);
    int64_t now = g_get_monotonic_time();
    if (now - transfer->progress_at >= PROGRESS_US) {
        transfer->progress_at = now;
        tell(transfer, SUNDOG_PULL_TRANSFER);
    }
    read_more(task);
}

/* Writing may block on the disk for seconds, which the main loop must not. */
static void
append_in_thread(GTask *task, void *source, void *data, GCancellable *cancellable)
{
    GError *error = NULL;
    GBytes *bytes = data;
    SundogPartial *partial = g_object_get_data(G_OBJECT(task), "partial");
    if (sundog_partial_append(partial, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes),
                              &error))
        g_task_return_boolean(task, true);
    else
        g_task_return_error(task, error);
}

static void
append(GTask *task, GBytes *bytes)
{
    Transfer *transfer = g_task_get_task_data(task);
    g_autoptr(GTask) work = g_task_new(NULL, NULL, on_appended, task);
    g_object_set_data(G_OBJECT(work), "partial", transfer->options.partial);
    g_task_set_task_data(work, g_bytes_ref(bytes), (GDestroyNotify)g_bytes_unref);
    g_task_run_in_thread(work, append_in_thread);
}

static void
on_body_end(GTask *task)
{
    Transfer *transfer = g_task_get_task_data(task);
    uint64_t n_bytes = sundog_partial_get_bytes(transfer->options.partial);
    if (n_bytes > 0 && (transfer->total == 0 || n_bytes == transfer->total)) {
        tell(transfer, SUNDOG_PULL_TRANSFER);
        end_transfer(task, NULL);
        return;
    }
    end_try(task,
            g_error_new(SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NETWORK,
                        "The line was cut after %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                        " bytes",
                        n_bytes, transfer->total),
            0);
}

static void
on_read(GObject *source, GAsyncResult *result, void *data)
{
    GTask *task = data;
    Transfer *transfer = g_task_get_task_data(task);
    GError *error = NULL;
    g_autoptr(GBytes) bytes =
        g_input_stream_read_bytes_finish(G_INPUT_STREAM(source), result, &error);
    sundog_timer_stop(&transfer->stall_timer);
    sundog_timer_stop(&transfer->sync_timer);
    if (!bytes) {
        end_try(task, error, 0);
        return;
    }
    uint64_t n_bytes = g_bytes_get_size(bytes);
    uint64_t n_after = sundog_partial_get_bytes(transfer->options.partial) + n_bytes;
    if (n_bytes == 0)
        on_body_end(task);
    else if (transfer->total && n_after > transfer->total)
        end_try(task,
                g_error_new(SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_MISMATCH,
                            "The host sends more than the %" G_GUINT64_FORMAT
                            " bytes that the file has",
                            transfer->total),
                0);
    else
        append(task, bytes);
}

static void
read_more(GTask *task)
{
    Transfer *transfer = g_task_get_task_data(task);
    arm_stall_timer(task);
    sundog_timer_start(&transfer->sync_timer, IDLE_SYNC_MS, on_silent, task);
    g_input_stream_read_bytes_async(transfer->body, READ_BYTES, G_PRIORITY_DEFAULT,
                                    transfer->try_cancellable, on_read, task);
}

static bool
check_room(Transfer *transfer, GError **error)
{
    uint64_t done = sundog_partial_get_bytes(transfer->options.partial);
    uint64_t needed = transfer->total > done ? transfer->total - done + SPARE_BYTES : 0;
    uint64_t free_bytes = sundog_partial_get_free_bytes(transfer->options.partial);
    if (needed <= free_bytes)
        return true;
    g_autofree char *needed_text = g_format_size(needed);
    g_autofree char *free_text = g_format_size(free_bytes);
    g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NO_SPACE,
                "The download needs %s more, the disk has %s free: make room, then resume; what "
                "came is kept",
                needed_text, free_text);
    return false;
}

/* 200 in place of 206: another file stands there by now, or the host knows no ranges. */
static bool
begin_body(Transfer *transfer, const SundogResponse *response, GError **error)
{
    if (response->total)
        transfer->total = response->total;
    if (response->kind == SUNDOG_RESPONSE_WHOLE &&
        !sundog_partial_restart(transfer->options.partial, response->validator, transfer->total,
                                error))
        return false;
    transfer->n_bytes_rated = sundog_partial_get_bytes(transfer->options.partial);
    transfer->rated_at = g_get_monotonic_time();
    return check_room(transfer, error);
}

static void
follow(GTask *task, GUri *location)
{
    Transfer *transfer = g_task_get_task_data(task);
    if (++transfer->n_moves > MAX_MOVES) {
        end_try(task,
                g_error_new(SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_REFUSED,
                            "The host sent the download on more than %d times", MAX_MOVES),
                0);
        return;
    }
    g_uri_unref(transfer->place);
    transfer->place = g_uri_ref(location);
    send_request(task);
}

static bool
sends_token(const Transfer *transfer)
{
    return soup_message_headers_get_one(soup_message_get_request_headers(transfer->message),
                                        "Authorization") != NULL;
}

static void
on_response(GObject *source, GAsyncResult *result, void *data)
{
    GTask *task = data;
    Transfer *transfer = g_task_get_task_data(task);
    GError *error = NULL;
    g_autoptr(GInputStream) body = soup_session_send_finish(SOUP_SESSION(source), result, &error);
    sundog_timer_stop(&transfer->stall_timer);
    if (!body) {
        end_try(task, error, 0);
        return;
    }
    SundogResponse response;
    sundog_response_read(&response, transfer->message,
                         sundog_partial_get_bytes(transfer->options.partial),
                         transfer->options.n_bytes, sends_token(transfer), &error);
    if (!error && response.kind == SUNDOG_RESPONSE_MOVED) {
        follow(task, response.location);
    } else if (!error && response.kind == SUNDOG_RESPONSE_COMPLETE) {
        end_transfer(task, NULL);
    } else if (!error && begin_body(transfer, &response, &error)) {
        transfer->body = g_steal_pointer(&body);
        tell(transfer, SUNDOG_PULL_TRANSFER);
        read_more(task);
    } else {
        /* The offset was beyond the host's file: only from the start can this go on. */
        if (soup_message_get_status(transfer->message) ==
            SOUP_STATUS_REQUESTED_RANGE_NOT_SATISFIABLE)
            sundog_partial_restart(transfer->options.partial, NULL, 0, NULL);
        end_try(task, error, response.wait_seconds);
    }
    sundog_response_clear(&response);
}

/* The token goes to the very origin that the source names, not to where that sends us on, and never
 * in clear over a network. */
static bool
may_have_token(const Transfer *transfer)
{
    g_autoptr(GUri) source = g_uri_parse(transfer->url, SOUP_HTTP_URI_FLAGS, NULL);
    GUri *place = transfer->place;
    return transfer->token && strcmp(g_uri_get_host(source), g_uri_get_host(place)) == 0 &&
           strcmp(g_uri_get_scheme(source), g_uri_get_scheme(place)) == 0 &&
           g_uri_get_port(source) == g_uri_get_port(place) &&
           (strcmp(g_uri_get_scheme(place), "https") == 0 || is_loopback(place));
}

static void
set_headers(Transfer *transfer)
{
    SoupMessageHeaders *headers = soup_message_get_request_headers(transfer->message);
    /* A hash is of the file's own bytes, and offsets count them. */
    soup_message_headers_replace(headers, "Accept-Encoding", "identity");
    uint64_t offset = sundog_partial_get_bytes(transfer->options.partial);
    const char *validator = sundog_partial_get_validator(transfer->options.partial);
    if (offset > 0 && (validator || transfer->options.is_hashed)) {
        g_autofree char *range = g_strdup_printf("bytes=%" G_GUINT64_FORMAT "-", offset);
        soup_message_headers_replace(headers, "Range", range);
        if (validator)
            soup_message_headers_replace(headers, "If-Range", validator);
    }
    if (may_have_token(transfer)) {
        g_autofree char *value = g_strconcat("Bearer ", transfer->token, NULL);
        soup_message_headers_replace(headers, "Authorization", value);
    }
}

static void
send_request(GTask *task)
{
    Transfer *transfer = g_task_get_task_data(task);
    g_clear_object(&transfer->message);
    transfer->message = soup_message_new_from_uri(SOUP_METHOD_GET, transfer->place);
    /* Followed here, since libsoup 3.2 takes the Authorization header along to other hosts. */
    soup_message_add_flags(transfer->message, SOUP_MESSAGE_NO_REDIRECT);
    set_headers(transfer);
    arm_stall_timer(task);
    soup_session_send_async(transfer->options.session, transfer->message, G_PRIORITY_DEFAULT,
                            transfer->try_cancellable, on_response, task);
}

static void
start_try(GTask *task)
{
    Transfer *transfer = g_task_get_task_data(task);
    g_clear_object(&transfer->try_cancellable);
    transfer->try_cancellable = g_cancellable_new();
    if (g_cancellable_is_cancelled(g_task_get_cancellable(task)))
        g_cancellable_cancel(transfer->try_cancellable);
    transfer->is_stalled = false;
    transfer->n_moves = 0;
    transfer->place = g_uri_parse(transfer->url, SOUP_HTTP_URI_FLAGS, NULL);
    tell(transfer, SUNDOG_PULL_CONNECTING);
    send_request(task);
}

/* In a wait there is no request that the cancelling could end. */
static gboolean
end_cancelled_wait(void *data)
{
    GTask *task = data;
    Transfer *transfer = g_task_get_task_data(task);
    if (transfer->backoff_timer)
        end_try(task, NULL, 0);
    return G_SOURCE_REMOVE;
}

static void
on_cancelled(GCancellable *cancellable, void *data)
{
    GTask *task = data;
    Transfer *transfer = g_task_get_task_data(task);
    g_cancellable_cancel(transfer->try_cancellable);
    /* Later, since a handler may not be disconnected from within itself. */
    g_autoptr(GSource) source = g_idle_source_new();
    g_source_set_callback(source, end_cancelled_wait, g_object_ref(task), g_object_unref);
    g_source_attach(source, g_task_get_context(task));
}

void
sundog_transfer_async(const SundogTransferOptions *options, GCancellable *cancellable,
                      GAsyncReadyCallback callback, void *data)
{
    GTask *task = g_task_new(NULL, cancellable, callback, data);
    Transfer *transfer = g_new0(Transfer, 1);
    transfer->options = *options;
    transfer->url = g_strdup(options->url);
    transfer->token = options->token && *options->token ? g_strdup(options->token) : NULL;
    transfer->total = options->n_bytes;
    g_task_set_task_data(task, transfer, transfer_free);
    /* Only whole files are success, also when the cancelling came with the last byte. */
    g_task_set_check_cancellable(task, false);
    uint64_t done = sundog_partial_get_bytes(options->partial);
    if (options->n_bytes && done == options->n_bytes) {
        end_transfer(task, NULL);
        return;
    }
    transfer->try_cancellable = g_cancellable_new();
    if (cancellable)
        transfer->cancel_handler =
            g_cancellable_connect(cancellable, G_CALLBACK(on_cancelled), task, NULL);
    start_try(task);
}

bool
sundog_transfer_finish(GAsyncResult *result, GError **error)
{
    return g_task_propagate_boolean(G_TASK(result), error);
}
