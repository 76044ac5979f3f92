#pragma once

/*
 * What a fit says of one core on this machine, in the cache folder's fits/NAME.json:
 *   {"version": 1, "core", "created": the core's own, "device", "n_threads", "measured": RFC 3339,
 *    "prefill_tokens_per_second", "decode_tokens_per_second"}
 * Local, unsigned and disposable: one that is missing, damaged, or of another core of that name (by
 * "created") is none.
 */

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>

typedef struct {
    const char *core;    /* name in the library */
    const char *created; /* of the core's manifest; NULL counts as "" */
    const char *device;
    unsigned n_threads;
    double prefill_tokens_per_second;
    double decode_tokens_per_second;
} SundogFitFile;

/* Written beside and renamed. */
bool sundog_fit_file_write(const SundogFitFile *fit, GError **error);
/* The file's object, or NULL where there is no fit of this core; owned by the caller. */
JsonObject *sundog_fit_file_read(const char *core, const char *created);
