#pragma once

/*
 * A file that is being fetched: FILE.partial with the bytes, and FILE.partial.json with what is known
 * of them: {"url", "validator", "total", "synced"}. After a crash the file goes on at "synced", the
 * length that had reached the disk; the state is rewritten in place, with the same length, so that a
 * full disk cannot keep it from being written.
 *
 * Open, restart or append, sync, finish. Append and sync may be called on any thread.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct SundogPartial SundogPartial;

/* Opens or makes the partial file. What was fetched from another URL is not gone on with. */
SundogPartial *sundog_partial_open(const char *folder, const char *name, const char *url,
                                   GError **error);
/* Frees; the files stay. */
void sundog_partial_free(SundogPartial *partial);

uint64_t sundog_partial_get_bytes(SundogPartial *partial);
const char *sundog_partial_get_name(const SundogPartial *partial);
const char *sundog_partial_get_path(const SundogPartial *partial);
/* The ETag (strong) or date that the bytes belong to, for If-Range; NULL where none was given. */
const char *sundog_partial_get_validator(const SundogPartial *partial);
/* Empties the file. total 0 where not known. */
bool sundog_partial_restart(SundogPartial *partial, const char *validator, uint64_t total,
                            GError **error);
/* SUNDOG_LIBRARY_ERROR_NO_SPACE where the disk is full; what did fit is kept. */
bool sundog_partial_append(SundogPartial *partial, const void *data, size_t n_bytes,
                           GError **error);
/* Makes what was appended durable, where something was. */
bool sundog_partial_sync(SundogPartial *partial, GError **error);
/* Renames to the file's own name and removes the state. */
bool sundog_partial_finish(SundogPartial *partial, GError **error);
/* Removes both files. */
void sundog_partial_discard(SundogPartial *partial);
/* Room on the file's disk for an unprivileged user, in bytes; UINT64_MAX where it cannot be told. */
uint64_t sundog_partial_get_free_bytes(const SundogPartial *partial);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogPartial, sundog_partial_free)
