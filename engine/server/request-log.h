#pragma once

/* The requests that ended last, in memory, as GET /sundog/v1/requests tells them. Main context. */

#include "engine/server/generation.h"

typedef struct SundogRequestLog SundogRequestLog;

SundogRequestLog *sundog_request_log_new(void);
void sundog_request_log_free(SundogRequestLog *log);
/* One that is over. */
void sundog_request_log_add(SundogRequestLog *log, const SundogGeneration *generation);
/* Appends them to the array, the newest first. */
void sundog_request_log_describe(const SundogRequestLog *log, JsonArray *array);
