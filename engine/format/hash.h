#pragma once

/* SHA-256 of mapped files, as hubs publish it. */

#include <gio/gio.h>

/* Of all bytes one after the other, in hex; owned by the caller. Fails only where it is cancelled. */
char *sundog_hash_dup_sha256(GBytes *const *pieces, size_t n_pieces, GCancellable *cancellable,
                             GError **error);
