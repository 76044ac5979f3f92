#pragma once

/* What a host's answer to a request for a file means: go on, follow, wait and try again, or give up. */

#include <libsoup/soup.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    SUNDOG_RESPONSE_WHOLE,    /* 200: the file from its start */
    SUNDOG_RESPONSE_REST,     /* 206: the file from the asked offset on */
    SUNDOG_RESPONSE_COMPLETE, /* 416: nothing is left to send */
    SUNDOG_RESPONSE_MOVED,    /* the answer lies at `location` */
    SUNDOG_RESPONSE_RETRY,    /* a passing fault: error says which */
    SUNDOG_RESPONSE_FATAL,    /* asking again changes nothing: error says what to do */
} SundogResponseKind;

typedef struct {
    SundogResponseKind kind;
    uint64_t total;        /* of the whole file, 0 where not said */
    char *validator;       /* strong ETag or date, or NULL */
    GUri *location;        /* where moved */
    unsigned wait_seconds; /* the host's own wish before a retry, 0 for none */
} SundogResponse;

/* Judges the headers of message, which asked for the bytes from offset on of a file of `expected`
 * bytes (0: not known). has_token: whether an access token went with it. */
void sundog_response_read(SundogResponse *response, SoupMessage *message, uint64_t offset,
                          uint64_t expected, bool has_token, GError **error);
void sundog_response_clear(SundogResponse *response);
