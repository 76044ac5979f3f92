#pragma once

/*
 * What one machine adds to a core for a GPU: which sizes of decoding steps are worth a graph of their own. Every
 * size of a fine ladder is timed with random weights in place of the core's; one is kept where it is faster than the
 * next larger one that is, since a step between two sizes runs as the larger. Seconds; needs the memory that
 * the core needs, so no engine may have it meanwhile.
 *
 * Of a core for the host there is nothing to choose.
 */

#include "engine/replay/replay.h"
#include <gio/gio.h>

/* A size that was timed. */
typedef struct {
    int32_t n_sequences;
    double us; /* a decoding step of so many, each behind the fit's context */
    bool is_kept;
} SundogFitRung;

typedef struct {
    bool is_alike; /* asked for: all steps give a row the same bits */
    uint32_t n_context;
    SundogFitRung rungs[SUNDOG_REPLAY_MAX_RUNGS]; /* rising */
    uint32_t n_rungs;
    int32_t prompt_tokens; /* of a prompt that was timed, and */
    double prompt_us;      /* its step */
    /* Where all steps are alike: what the smallest and the prompt's step take where they need not be. */
    double usual_decode_us;
    double usual_prompt_us;
} SundogFit;

typedef struct {
    bool is_alike;
    void (*progress)(double fraction, void *data); /* may be NULL */
    void *data;
    GCancellable *cancellable; /* may be NULL */
} SundogFitOptions;

bool sundog_fit_measure(SundogCore *core, const SundogFitOptions *options, SundogFit *fit,
                        GError **error);
/* The sizes that are kept, of which there is room for SUNDOG_REPLAY_MAX_RUNGS; how many. */
uint32_t sundog_fit_get_ladder(const SundogFit *fit, int32_t *ladder);
/* Says of each size, from the largest down, whether it is worth a graph. Of what was timed nothing else counts. */
void sundog_fit_choose(SundogFit *fit);
