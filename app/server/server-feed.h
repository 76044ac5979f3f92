#pragma once

/*
 * What the server says about itself, live: its event stream `/sundog/v1/events`, kept as the newest
 * state, jobs, requests and log lines. Subscribes whenever the supervisor is ready and again when the
 * stream breaks. Events that it does not know are ignored.
 *
 * Signals: "state", "jobs", "requests", "library" (models or cores changed), "log" (of a new line),
 * each told at most once for each batch of events.
 */

#include "app/server/client.h"
#include "app/server/supervisor.h"

#define SUNDOG_TYPE_SERVER_FEED (sundog_server_feed_get_type())
G_DECLARE_FINAL_TYPE(SundogServerFeed, sundog_server_feed, SUNDOG, SERVER_FEED, GObject)

#define SUNDOG_FEED_MAX_LOG_LINES 2000
#define SUNDOG_FEED_MAX_REQUESTS 100

SundogServerFeed *sundog_server_feed_new(SundogClient *client, SundogSupervisor *supervisor);

/* The "state" object, its "engine" part (of the core used last), and that core's name; NULL while not known. Borrowed. */
JsonObject *sundog_server_feed_get_state(SundogServerFeed *feed);
JsonObject *sundog_server_feed_get_engine(SundogServerFeed *feed);
const char *sundog_server_feed_get_core(SundogServerFeed *feed);
/* Of every core in use, as in "engines" of the state; borrowed, or NULL. */
JsonArray *sundog_server_feed_get_engines(SundogServerFeed *feed);
/* That of a core; borrowed, or NULL where it is not in use. */
JsonObject *sundog_server_feed_find_engine(SundogServerFeed *feed, const char *core);
/* "ready", "loading", …; "none" while not known. */
const char *sundog_server_feed_get_engine_state(SundogServerFeed *feed);
/* Arrays of JsonObject, jobs oldest first, requests newest first; borrowed. */
GPtrArray *sundog_server_feed_get_jobs(SundogServerFeed *feed);
GPtrArray *sundog_server_feed_get_requests(SundogServerFeed *feed);
/* Array of JsonObject {n, time, level, text}, oldest first; borrowed. */
GPtrArray *sundog_server_feed_get_log(SundogServerFeed *feed);
