#pragma once

/* The server as its endpoints see it. */

#include "engine/library/catalogue.h"
#include "engine/library/config.h"
#include "engine/library/server-file.h"
#include "engine/server/events.h"
#include "engine/server/exchange.h"
#include "engine/server/jobs.h"
#include "engine/server/key-limits.h"
#include "engine/server/listener.h"
#include "engine/server/log.h"
#include "engine/server/openai/stored-responses.h"
#include "engine/server/request-log.h"
#include "engine/server/server.h"
#include "engine/server/supervisor.h"

struct SundogServer {
    SundogServerOptions options; /* its texts are not kept */
    char *address;
    char *key;               /* of the owner; "" for none */
    bool has_configured_key; /* it is the setting's, and follows it */
    SundogApiKeys *api_keys; /* of clients */
    SundogKeyLimits *key_limits;
    char *started;
    SundogConfig *config;
    SundogLibrary *library;
    SundogCatalogue *catalogue; /* or NULL where it is missing */
    SundogServerFile *file;
    SoupServer *soup;
    SundogListener *listener;
    SundogSupervisor *supervisor;
    SundogRequestLog *request_log;
    SundogLog *log;
    SundogEvents *events;
    SundogJobs *jobs;
    SundogCoreText *fixed_core; /* of `serve --core`, or NULL */
    char *draft;                /* as "engine.draft", of `serve --draft` where it was given */
    SundogStoredResponses *stored_responses;
    GPtrArray *core_texts; /* the ones used last, newest first */
    bool is_stopping;
    guint stop_timer;
    int parent_fd; /* of the process, -1 without one */
    guint parent_watch;
    int64_t stop_deadline_us;
    guint state_event; /* pending, so that a burst of changes is one event */
};

/* Whether the client's key may use the core of this name. */
bool sundog_server_may_use(const SundogExchange *exchange, const char *name);
/* The core that answers for a model's name (NULL or "": the loaded one, the configured one, or the
 * only one there is), if the client may use it. A reference for the caller, or NULL and the reason. */
SundogCoreText *sundog_server_dup_core(SundogExchange *exchange, const char *model,
                                       SundogApiError **error);
/* By name or path; a reference for the caller. */
SundogCoreText *sundog_server_open_core(SundogServer *server, const char *name, GError **error);
/* The cores that the client may name, without damaged ones (SundogLibraryEntry, owned by the caller): under
 * `serve --core` that one alone. name: only the one of that name; NULL: all. */
GPtrArray *sundog_server_list_cores(SundogExchange *exchange, const char *name);
/* Fails with the exchange's argument as the name of a core that is not there. */
void sundog_server_fail_unknown_core(SundogExchange *exchange);
/* For the member core_texts. */
GPtrArray *sundog_server_new_core_texts(void);
/* Models or cores came or went: listeners are told, and what was read of cores is forgotten. */
void sundog_server_library_changed(SundogServer *server);
/* As GET /sundog/v1/state, and "requests" of GET /sundog/v1/requests; owned by the caller. */
JsonObject *sundog_server_describe(SundogServer *server);
JsonArray *sundog_server_describe_requests(SundogServer *server);
/* From now this core may be unloaded when nothing has been asked of it for so long; -1: it stays. */
void sundog_server_keep(SundogServer *server, const SundogCoreText *core, int64_t ms);
/* For requests that do not say how long. */
int64_t sundog_server_get_keep_alive_ms(const SundogServer *server);
/* Loads it too; it stays as long as is configured. */
void sundog_server_load(SundogServer *server, SundogCoreText *core);
/* The process that runs the core in this folder, while it is ready; NULL otherwise. Borrowed. */
const SundogReady *sundog_server_get_ready(SundogServer *server, const char *path);
/* The clients' keys as their file has them now; borrowed. */
const SundogApiKeys *sundog_server_get_api_keys(SundogServer *server);
/* Adds a line to the log. */
void sundog_server_log(SundogServer *server, const char *level, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
/* Context in tokens that a request on this core may fill. */
uint32_t sundog_server_get_context(SundogServer *server, const SundogCoreText *core);
