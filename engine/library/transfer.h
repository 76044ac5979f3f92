#pragma once

/*
 * One file from an URL into its partial file: as many tries as it takes, each going on where the last
 * one ended. A try without a byte for stall_seconds is given up. Between tries it waits, longer each
 * time, and goes on at once when the network comes back. Asynchronous on the caller's main context.
 */

#include "engine/library/partial.h"
#include "engine/library/pull.h"
#include <libsoup/soup.h>

typedef struct {
    SoupSession *session;
    const char *url;
    const char *token; /* or NULL */
    SundogPartial *partial;
    uint64_t n_bytes; /* of the whole file, 0 where not known */
    bool is_hashed;   /* a hash will be checked: bytes without validator may be gone on with */
    unsigned stall_seconds;
    unsigned max_tries;
    unsigned first_backoff_ms;
    /* n_bytes_done and n_bytes_total are of this file. */
    void (*progress)(const SundogPullProgress *progress, void *data);
    void *data;
} SundogTransferOptions;

/* The options' texts are copied; session and partial must live until the callback. */
void sundog_transfer_async(const SundogTransferOptions *options, GCancellable *cancellable,
                           GAsyncReadyCallback callback, void *data);
/* True with every byte of the file appended and synced. */
bool sundog_transfer_finish(GAsyncResult *result, GError **error);
