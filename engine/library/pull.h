#pragma once

/*
 * Fetches a model into the library: a catalogue name, an URL, or a local file that stands in for one
 * (`--from`). Resumes at the last synced byte, retries with bounded backoff, notices a stalled line,
 * checks room first, size before hash, and lets one process write a model at a time (a lock file).
 * Partial files outlive the process and go only on the user's order.
 *
 * Asynchronous on the caller's main context; progress comes there too.
 */

#include "engine/library/catalogue.h"
#include "engine/library/library.h"

typedef enum {
    SUNDOG_PULL_CONNECTING,
    SUNDOG_PULL_TRANSFER,
    SUNDOG_PULL_WAITING, /* between tries; detail says why and for how long */
    SUNDOG_PULL_CHECKING,
    SUNDOG_PULL_DONE,
} SundogPullPhase;

typedef struct {
    SundogPullPhase phase;
    uint64_t n_bytes_done;  /* of the whole model, verified or synced */
    uint64_t n_bytes_total; /* 0 while not known */
    double bytes_per_second;
    const char *detail; /* or NULL */
} SundogPullProgress;

typedef struct {
    const char *source;     /* catalogue name or URL */
    const char *from;       /* local file that holds the bytes, or NULL */
    const char *name;       /* name in the library; NULL: from the source */
    const char *token;      /* access token, or NULL; goes to the source's own host alone, over TLS
                                  or loopback, and into no log or error */
    unsigned stall_seconds; /* 0: 20 */
    unsigned max_tries;     /* without progress between them; 0: 8 */
    unsigned first_backoff_ms; /* 0: 500; doubles up to 30 s */
    void (*progress)(const SundogPullProgress *progress, void *data);
    void *data;
} SundogPullOptions;

void sundog_pull_async(SundogLibrary *library, const SundogCatalogue *catalogue,
                       const SundogPullOptions *options, GCancellable *cancellable,
                       GAsyncReadyCallback callback, void *data);
/* The model's name in the library, owned by the caller. */
char *sundog_pull_finish(SundogLibrary *library, GAsyncResult *result, GError **error);
