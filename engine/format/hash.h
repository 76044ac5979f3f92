#pragma once

/* SHA-256 of mapped files, as hubs publish it. */

#include <gio/gio.h>
#include <stdint.h>

/* Of all pieces together. */
uint64_t sundog_hash_count_bytes(GBytes *const *pieces, size_t n_pieces);
/* Of all bytes one after the other, in hex; owned by the caller. Fails only where it is cancelled. */
char *sundog_hash_dup_sha256(GBytes *const *pieces, size_t n_pieces, GCancellable *cancellable,
                             GError **error);
