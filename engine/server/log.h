#pragma once

/* The last lines of what server and engine had to say, in memory, for the app and the command line. */

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct SundogLog SundogLog;

SundogLog *sundog_log_new(void);
void sundog_log_free(SundogLog *log);
/* level: "debug", "info", "warning" or "error". The line as JSON, owned by the caller. */
JsonObject *sundog_log_add(SundogLog *log, const char *level, const char *text);
/* [{"n", "time", "level", "text"}] after line number `after`, of this level and more urgent ones;
 * owned by the caller. */
JsonArray *sundog_log_describe(const SundogLog *log, const char *level, uint64_t after);
bool sundog_log_level_is_known(const char *level);
