#pragma once

/*
 * One HTTP request and its answer: a handler either replies at once, or keeps the exchange and replies
 * later, whole or as a stream. What is sent to one stream within one turn of the main loop is written
 * together. A client that goes away is noticed at once, also while nothing is being sent; one that
 * does not read is cut off at a bound, and never holds the engine back.
 *
 * Every exchange ends with exactly one reply, failure or end of stream; after that, and after `gone`,
 * calls on it do nothing. References: the handler's is lent; keep one with ref for later.
 */

#include "engine/library/api-keys.h"
#include "engine/server/dialect.h"
#include <json-glib/json-glib.h>
#include <libsoup/soup.h>

typedef struct SundogExchange SundogExchange;
typedef struct SundogServer SundogServer;

SundogExchange *sundog_exchange_new(SundogServer *server, SoupServerMessage *message);
SundogExchange *sundog_exchange_ref(SundogExchange *exchange);
void sundog_exchange_unref(SundogExchange *exchange);

SundogServer *sundog_exchange_get_server(const SundogExchange *exchange);
SoupServerMessage *sundog_exchange_get_message(const SundogExchange *exchange);
SundogDialect sundog_exchange_get_dialect(const SundogExchange *exchange);
const char *sundog_exchange_get_path(const SundogExchange *exchange);
/* What stands for the '*' of the route; borrowed. */
const char *sundog_exchange_get_argument(const SundogExchange *exchange);
void sundog_exchange_set_argument(SundogExchange *exchange, const char *argument);
/* The client's key, borrowed; NULL: it is the owner, or none is needed. set is called once. */
SundogApiKey *sundog_exchange_get_key(const SundogExchange *exchange);
void sundog_exchange_set_key(SundogExchange *exchange, SundogApiKey *key);
/* A value of the query, or NULL; owned by the caller. */
char *sundog_exchange_dup_query(const SundogExchange *exchange, const char *key);
/* Reads the body as JSON, a long one on a thread of its own, since a megabyte takes some 30 ms in which
 * the main loop would serve nobody, and frees it on one; then calls `then`, unless the client has left, maybe at once. */
void sundog_exchange_read(SundogExchange *exchange, void (*then)(SundogExchange *exchange));
/* The body as a JSON object, borrowed; an empty body is {}. NULL: the failure has been replied. */
JsonObject *sundog_exchange_get_object(SundogExchange *exchange);
/* Parts of the body will be referred to after the exchange. Without this, nobody may then. */
void sundog_exchange_share_body(SundogExchange *exchange);
size_t sundog_exchange_get_body_bytes(const SundogExchange *exchange);

/* Whole answers. reply takes a floating-free node's ownership. */
void sundog_exchange_reply(SundogExchange *exchange, unsigned status, JsonNode *node);
void sundog_exchange_reply_object(SundogExchange *exchange, unsigned status, JsonObject *object);
void sundog_exchange_reply_text(SundogExchange *exchange, unsigned status, const char *type,
                                const char *text, size_t n_bytes);
/* Replies with the error (taken) in the client's dialect; within a stream as an event, which ends it. */
void sundog_exchange_fail(SundogExchange *exchange, SundogApiError *error);

/* Streams of the dialect's kind: headers go out at once, and its sign of life whenever nothing went out
 * for the server's ping_seconds. */
void sundog_exchange_begin_stream(SundogExchange *exchange);
/* What is sent as a sign of life, where the dialect has none that is no part of an answer. */
void sundog_exchange_set_ping(SundogExchange *exchange, const char *text);
/* Bytes as they are; sent with the turn of the main loop. */
void sundog_exchange_send(SundogExchange *exchange, const char *text, size_t n_bytes);
void sundog_exchange_end(SundogExchange *exchange);
bool sundog_exchange_is_stream(const SundogExchange *exchange);

/* Called at most once, when the client has gone or was cut off before the end of the answer. */
void sundog_exchange_set_gone(SundogExchange *exchange, void (*gone)(void *data), void *data);
bool sundog_exchange_is_over(const SundogExchange *exchange);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogExchange, sundog_exchange_unref)
