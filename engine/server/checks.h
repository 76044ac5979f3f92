#pragma once

/*
 * What is asked of a request before its handler: the Host (against DNS rebinding), the Origin (against
 * web pages), the key, and for a body its type and length.
 */

#include "engine/server/exchange.h"
#include "engine/server/routes.h"

/* Longest body that is read. */
#define SUNDOG_MAX_BODY_BYTES (32u << 20)

typedef struct {
    const char *address;       /* the server listens on */
    const char *key;           /* of the owner; "" for none */
    const SundogApiKeys *keys; /* of clients */
    const char *origins;       /* allowed web origins, by comma */
} SundogChecks;

/* By the headers alone. NULL, or why the request is refused. *key: the client's, borrowed from the keys;
 * NULL where it is the owner's, or none is needed. */
SundogApiError *sundog_checks_run(const SundogChecks *checks, SoupServerMessage *message,
                                  SundogRouteAccess access, SundogApiKey **key);
/* Whether an Origin header is of a page or program that may use the server. */
bool sundog_checks_allow_origin(const SundogChecks *checks, const char *origin);
/* Watches the body while it comes: one that is too long is answered and the connection cut, without
 * keeping it. To be called when the message starts. */
void sundog_checks_bound_body(SoupServerMessage *message);
