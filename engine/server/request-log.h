#pragma once

/*
 * The requests that have ended: the last ones in memory, as GET /sundog/v1/requests tells them, and where
 * the setting server.request_log asks for it all in requests.jsonl in the state folder (mode 0600), one
 * JSON object a line with the same members. What was asked and answered stands there only where
 * server.log_texts asks for that too. A file that has grown long is kept as requests.jsonl.1, in place of
 * an earlier one. Main context.
 */

#include "engine/server/generation.h"

typedef struct SundogRequestLog SundogRequestLog;

/* path: of the file, or NULL for none. */
SundogRequestLog *sundog_request_log_new(const char *path, bool with_texts);
void sundog_request_log_free(SundogRequestLog *log);
/* One that is over. The first line that cannot be written ends the writing: false with the error once. */
bool sundog_request_log_add(SundogRequestLog *log, const SundogGeneration *generation,
                            GError **error);
/* Appends those in memory to the array, the newest first. */
void sundog_request_log_describe(const SundogRequestLog *log, JsonArray *array);
