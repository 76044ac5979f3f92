#pragma once

/* Who listens to GET /sundog/v1/events, and what they are told. */

#include "engine/server/exchange.h"

typedef struct SundogEvents SundogEvents;

SundogEvents *sundog_events_new(void);
/* Ends all streams. */
void sundog_events_free(SundogEvents *events);
bool sundog_events_has_listeners(const SundogEvents *events);
/* Begins the stream of this exchange. */
void sundog_events_add(SundogEvents *events, SundogExchange *exchange);
/* To all, or to one alone. object is taken. */
void sundog_events_publish(SundogEvents *events, const char *name, JsonObject *object);
void sundog_events_send(SundogExchange *exchange, const char *name, JsonObject *object);
