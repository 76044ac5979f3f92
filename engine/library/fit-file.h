#pragma once

/*
 * What a fit says of one core on this machine, in the cache folder's fits/NAME.json:
 *   {"version": 1, "core", "created": the core's own, "device", "n_threads", "measured": RFC 3339,
 *    "prefill_tokens_per_second", "decode_tokens_per_second",
 *    "gpu": {"deterministic", "context_tokens", "rungs": [{"sequences", "us", "kept"}], "prompt_tokens",
 *            "prompt_us", "usual_decode_us", "usual_prompt_us"}}   of a core for a GPU
 * Local, unsigned and disposable: one that is missing, damaged, or of another core of that name (by
 * "created") is none.
 */

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A size of decoding steps that was timed, and whether it has a graph. */
typedef struct {
    int32_t n_sequences;
    double us;
    bool is_kept;
} SundogFitFileRung;

/* As engine/prepare/fit.h says. */
typedef struct {
    bool is_alike;
    uint32_t n_context;
    const SundogFitFileRung *rungs;
    uint32_t n_rungs;
    int32_t prompt_tokens;
    double prompt_us;
    double usual_decode_us;
    double usual_prompt_us;
} SundogFitFileGpu;

typedef struct {
    const char *core;    /* name in the library */
    const char *created; /* of the core's manifest; NULL counts as "" */
    const char *device;
    unsigned n_threads;
    double prefill_tokens_per_second;
    double decode_tokens_per_second; /* 0: neither is known yet */
    const SundogFitFileGpu *gpu;     /* or NULL */
} SundogFitFile;

/* Written beside and renamed. */
bool sundog_fit_file_write(const SundogFitFile *fit, GError **error);
/* Words for sundog-engine's command line that make it use what was chosen; none where there is no such fit of this
 * core. Never NULL; owned by the caller. */
char **sundog_fit_file_dup_arguments(const char *core, const char *created);
/* The one of them that makes all steps alike. */
#define SUNDOG_FIT_FILE_ALIKE "--alike"
/* The file's object, or NULL where there is no fit of this core; owned by the caller. */
JsonObject *sundog_fit_file_read(const char *core, const char *created);
