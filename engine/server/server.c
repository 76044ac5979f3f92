/* Starting and stopping the server, and what its endpoints share. */

#include "engine/server/server.h"

#include "engine/library/timer.h"
#include "engine/server/checks.h"
#include "engine/server/memory-need.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"
#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STOP_STEP_MS 20
#define DEFAULT_PING_SECONDS 10
#define DEFAULT_IDLE_SECONDS 120
/* For the last answers to leave, before connections are closed. */
#define FAREWELL_US (300 * G_TIME_SPAN_MILLISECOND)

/* Log and events */

static void
add_line(SundogServer *server, const char *level, const char *text)
{
    JsonObject *line = sundog_log_add(server->log, level, text);
    if (server->events && sundog_events_has_listeners(server->events))
        sundog_events_publish(server->events, "log", line);
    else
        json_object_unref(line);
}

void
sundog_server_log(SundogServer *server, const char *level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    add_line(server, level, text);
}

static void
on_log(const char *level, const char *text, void *data)
{
    add_line(data, level, text);
}

static gboolean
on_state_event(void *data)
{
    SundogServer *server = data;
    server->state_event = 0;
    if (sundog_events_has_listeners(server->events))
        sundog_events_publish(server->events, "state", sundog_server_describe(server));
    return G_SOURCE_REMOVE;
}

static void
on_engine_changed(void *data)
{
    SundogServer *server = data;
    if (!server->state_event)
        sundog_timer_start(&server->state_event, 0, on_state_event, server);
}

static void
on_request_changed(SundogGeneration *generation, void *data)
{
    SundogServer *server = data;
    if (sundog_events_has_listeners(server->events))
        sundog_events_publish(server->events, "request", sundog_generation_describe(generation));
}

static void
on_request_ended(SundogGeneration *generation, void *data)
{
    SundogServer *server = data;
    g_autoptr(GError) error = NULL;
    if (!sundog_request_log_add(server->request_log, generation, &error))
        add_line(server, "warning", error->message);
}

static void
on_job_changed(JsonObject *description, void *data)
{
    SundogServer *server = data;
    if (server->events && sundog_events_has_listeners(server->events))
        sundog_events_publish(server->events, "job", json_object_ref(description));
}

void
sundog_server_library_changed(SundogServer *server)
{
    g_ptr_array_set_size(server->core_texts, 0);
    if (sundog_events_has_listeners(server->events))
        sundog_events_publish(server->events, "library", json_object_new());
}

static void
on_library_changed(void *data)
{
    sundog_server_library_changed(data);
}

/* HTTP */

static bool
publish(SundogServer *server, GError **error)
{
    return sundog_server_file_publish(server->file, server->address,
                                      sundog_listener_get_port(server->listener), *server->key != 0,
                                      server->started, error);
}

/* The first key of a client comes with one of the owner. */
static void
follow_owner_key(SundogServer *server)
{
    g_autoptr(SundogConfig) config = server->has_configured_key ? sundog_config_open(NULL) : NULL;
    if (!config || strcmp(sundog_config_get_text(config, "server.key"), server->key) == 0)
        return;
    g_free(server->key);
    server->key = g_strdup(sundog_config_get_text(config, "server.key"));
    publish(server, NULL);
}

/* A file that cannot be read any more leaves the keys as they were: nobody is let in by damage. */
const SundogApiKeys *
sundog_server_get_api_keys(SundogServer *server)
{
    g_autoptr(GError) error = NULL;
    if (!sundog_api_keys_is_stale(server->api_keys))
        return server->api_keys;
    SundogApiKeys *keys = sundog_api_keys_open(&error);
    if (!keys) {
        sundog_server_log(server, "error", "%s", error->message);
        return server->api_keys;
    }
    sundog_api_keys_free(server->api_keys);
    server->api_keys = keys;
    follow_owner_key(server);
    return keys;
}

static void
on_request_started(SoupServer *soup, SoupServerMessage *message, void *data)
{
    sundog_checks_bound_body(message);
}

static void
on_request(SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query,
           void *data)
{
    sundog_routes_dispatch(data, message);
}

static bool
listen_on(SundogServer *server, int port, GError **error)
{
    g_autoptr(GInetAddress) address = g_inet_address_new_from_string(server->address);
    if (!address) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                    "“%s” is no IP address: take 127.0.0.1 for this computer alone",
                    server->address);
        return false;
    }
    bool is_loopback = g_inet_address_get_is_loopback(address);
    bool has_key = *server->key || sundog_api_keys_get_all(server->api_keys)->len > 0;
    if (!is_loopback && !has_key) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED,
                    "Others than this computer could reach the address %s: set a key first "
                    "(server.key), or listen on 127.0.0.1",
                    server->address);
        return false;
    }
    server->soup = soup_server_new("server-header", "sundog/" SUNDOG_VERSION, NULL);
    g_signal_connect(server->soup, "request-started", G_CALLBACK(on_request_started), server);
    soup_server_add_handler(server->soup, NULL, on_request, server, NULL);
    server->listener = sundog_listener_new(server->soup, server->address, (unsigned)port,
                                           server->options.idle_seconds, error);
    return server->listener != NULL;
}

/* Starting */

static void
leave_with_parent(SundogServer *server)
{
    sundog_server_log(server, "info", "The program that started this server has ended");
    sundog_server_stop(server, 0);
}

static gboolean
on_parent_ended(int fd, GIOCondition condition, void *data)
{
    SundogServer *server = data;
    sundog_timer_stop(&server->parent_watch);
    leave_with_parent(server);
    return G_SOURCE_REMOVE;
}

/* The parent-death signal of Linux is of the parent's thread and not its process; a descriptor of the
 * process is told at once, is not fooled by a number that is used again, and wakes nobody. */
static void
watch_parent(SundogServer *server)
{
    server->parent_fd = (int)syscall(SYS_pidfd_open, server->options.parent, 0);
    if (server->parent_fd < 0 && errno == ESRCH)
        leave_with_parent(server);
    else if (server->parent_fd < 0)
        sundog_server_log(server, "warning", "Process %d cannot be watched: %s",
                          (int)server->options.parent, g_strerror(errno));
    if (server->parent_fd < 0)
        return;
    sundog_timer_start_source(&server->parent_watch,
                              g_unix_fd_source_new(server->parent_fd, G_IO_IN),
                              G_SOURCE_FUNC(on_parent_ended), server);
}

static bool
open_stores(SundogServer *server, GError **error)
{
    g_autoptr(GError) catalogue_error = NULL;
    server->config = sundog_config_open(error);
    if (!server->config)
        return false;
    bool is_logging = sundog_config_get_boolean(server->config, "server.request_log");
    server->request_log =
        sundog_request_log_new(is_logging ? sundog_paths_get_request_log() : NULL,
                               sundog_config_get_boolean(server->config, "server.log_texts"));
    server->api_keys = sundog_api_keys_open(error);
    if (!server->api_keys)
        return false;
    server->library = sundog_library_open(error);
    if (!server->library)
        return false;
    server->catalogue = sundog_catalogue_open(NULL, &catalogue_error);
    if (!server->catalogue)
        sundog_server_log(server, "warning", "%s", catalogue_error->message);
    const char *address = server->options.address;
    const char *key = server->options.key;
    const char *draft = server->options.draft;
    server->draft =
        g_strdup(draft ? draft : sundog_config_get_text(server->config, "engine.draft"));
    server->address =
        g_strdup(address ? address : sundog_config_get_text(server->config, "server.address"));
    server->has_configured_key = !key;
    server->key = g_strdup(key ? key : sundog_config_get_text(server->config, "server.key"));
    return true;
}

static void
make_supervisor(SundogServer *server)
{
    g_autofree char *beside = sundog_paths_dup_program("sundog-engine");
    const SundogConfig *config = server->config;
    SundogEngineSettings settings = {
        .program = server->options.engine ? server->options.engine : beside,
        .keys = sundog_paths_get_keys(),
        .n_threads = (unsigned)sundog_config_get_integer(config, "engine.threads"),
        .context_length = (uint64_t)sundog_config_get_integer(config, "engine.context"),
        .cache_bytes = (uint64_t)sundog_config_get_integer(config, "engine.cache_bytes"),
        .records = sundog_paths_get_records(),
        .gap_ms = (uint64_t)sundog_config_get_integer(config, "engine.gap_ms"),
        .record_bytes = (uint64_t)sundog_config_get_integer(config, "engine.record_bytes")};
    uint64_t budget = (uint64_t)sundog_config_get_integer(config, "engine.memory_budget");
    server->supervisor = sundog_supervisor_new(&(SundogSupervisorOptions){
        .engine = settings,
        .memory_budget = budget ? budget : sundog_memory_get_total() / 5 * 4,
        .changed = on_engine_changed,
        .request_changed = on_request_changed,
        .request_ended = on_request_ended,
        .log = on_log,
        .data = server});
}

static void
make_jobs(SundogServer *server)
{
    g_autofree char *beside = sundog_paths_dup_program("sundog");
    server->jobs = sundog_jobs_new(
        &(SundogJobsOptions){.library = server->library,
                             .catalogue = server->catalogue,
                             .config = server->config,
                             .program = server->options.sundog ? server->options.sundog : beside,
                             .changed = on_job_changed,
                             .library_changed = on_library_changed,
                             .log = on_log,
                             .data = server});
}

/* The core of `serve --core` must be there; the configured one may be missing by now. */
static bool
begin_core(SundogServer *server, GError **error)
{
    const char *name = server->options.core;
    if (name && *name) {
        server->fixed_core = sundog_server_open_core(server, name, error);
        if (!server->fixed_core)
            return false;
        sundog_server_load(server, server->fixed_core);
        return true;
    }
    const char *configured = sundog_config_get_text(server->config, "server.core");
    if (!*configured)
        return true;
    g_autoptr(GError) reason = NULL;
    g_autoptr(SundogCoreText) core = sundog_server_open_core(server, configured, &reason);
    if (core)
        sundog_server_load(server, core);
    else
        sundog_server_log(server, "warning", "%s", reason->message);
    return true;
}

static bool
start(SundogServer *server, GError **error)
{
    server->file = sundog_server_file_take(error);
    if (!server->file || !open_stores(server, error))
        return false;
    int port = server->options.port;
    if (port < 0)
        port = (int)sundog_config_get_integer(server->config, "server.port");
    server->events = sundog_events_new();
    if (!listen_on(server, port, error))
        return false;
    make_supervisor(server);
    make_jobs(server);
    if (!begin_core(server, error))
        return false;
    if (server->options.parent)
        watch_parent(server);
    return publish(server, error);
}

SundogServer *
sundog_server_start(const SundogServerOptions *options, GError **error)
{
    g_autoptr(SundogServer) server = g_new0(SundogServer, 1);
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    server->options = *options;
    if (!server->options.ping_seconds)
        server->options.ping_seconds = DEFAULT_PING_SECONDS;
    if (!server->options.idle_seconds)
        server->options.idle_seconds = DEFAULT_IDLE_SECONDS;
    server->parent_fd = -1;
    server->started = g_date_time_format_iso8601(now);
    server->log = sundog_log_new();
    server->key_limits = sundog_key_limits_new();
    server->stored_responses = sundog_stored_responses_new();
    server->core_texts = sundog_server_new_core_texts();
    if (!start(server, error))
        return NULL;
    sundog_server_log(server, "info", "Listening on %s, port %u", server->address,
                      sundog_server_get_port(server));
    server->options.core = server->options.draft = NULL;
    server->options.engine = server->options.sundog = NULL;
    server->options.address = server->options.key = NULL;
    return g_steal_pointer(&server);
}

/* Stopping: wait for the running requests, end the engine, let the last answers leave. */

static void
finish_stop(SundogServer *server)
{
    sundog_timer_stop(&server->stop_timer);
    if (server->options.stopped)
        server->options.stopped(server->options.data);
}

static gboolean
on_farewell_over(void *data)
{
    SundogServer *server = data;
    server->stop_timer = 0;
    finish_stop(server);
    return G_SOURCE_REMOVE;
}

static void
on_unloaded(void *data)
{
    SundogServer *server = data;
    g_clear_pointer(&server->events, sundog_events_free);
    server->events = sundog_events_new();
    sundog_timer_stop(&server->stop_timer);
    sundog_timer_start(&server->stop_timer, (unsigned)(FAREWELL_US / 1000), on_farewell_over,
                       server);
}

static gboolean
on_stop_due(void *data)
{
    SundogServer *server = data;
    guint n_open = sundog_supervisor_get_n_open(server->supervisor);
    if (n_open && g_get_monotonic_time() < server->stop_deadline_us)
        return G_SOURCE_CONTINUE;
    server->stop_timer = 0;
    SundogApiError *reason =
        sundog_api_error_new(SUNDOG_API_ERROR_CONFLICT, NULL, "The server is stopping", NULL);
    sundog_supervisor_unload(server->supervisor, NULL, reason, on_unloaded, server);
    return G_SOURCE_REMOVE;
}

void
sundog_server_stop(SundogServer *server, unsigned drain_ms)
{
    g_return_if_fail(server);
    int64_t deadline = g_get_monotonic_time() + (int64_t)drain_ms * 1000;
    if (server->is_stopping) {
        server->stop_deadline_us = MIN(server->stop_deadline_us, deadline);
        return;
    }
    server->is_stopping = true;
    server->stop_deadline_us = deadline;
    sundog_server_log(server, "info", "Stopping");
    on_engine_changed(server);
    g_clear_pointer(&server->listener, sundog_listener_free);
    sundog_timer_start(&server->stop_timer, STOP_STEP_MS, on_stop_due, server);
}

void
sundog_server_free(SundogServer *server)
{
    if (!server)
        return;
    sundog_timer_stop(&server->stop_timer);
    sundog_timer_stop(&server->parent_watch);
    if (server->parent_fd >= 0)
        close(server->parent_fd);
    sundog_timer_stop(&server->state_event);
    sundog_listener_free(server->listener);
    sundog_jobs_free(server->jobs);
    sundog_supervisor_free(server->supervisor);
    sundog_request_log_free(server->request_log);
    sundog_events_free(server->events);
    if (server->soup)
        soup_server_disconnect(server->soup);
    g_clear_object(&server->soup);
    sundog_core_text_unref(server->fixed_core);
    g_ptr_array_unref(server->core_texts);
    sundog_stored_responses_free(server->stored_responses);
    sundog_catalogue_free(server->catalogue);
    sundog_library_free(server->library);
    sundog_config_free(server->config);
    sundog_api_keys_free(server->api_keys);
    sundog_key_limits_free(server->key_limits);
    sundog_server_file_release(server->file);
    sundog_log_free(server->log);
    g_free(server->address);
    g_free(server->draft);
    g_free(server->key);
    g_free(server->started);
    g_free(server);
}

unsigned
sundog_server_get_port(const SundogServer *server)
{
    return server->listener ? sundog_listener_get_port(server->listener) : 0;
}

const char *
sundog_server_get_address(const SundogServer *server)
{
    return server->address;
}
