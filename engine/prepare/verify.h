#pragma once

/*
 * Proves a core on the machine it is on:
 *   operations   in steps of prefill, decoding and both, operations are fed the inputs that the fast
 *                kernels made, and recomputed with the plain ones that define them: equal bits
 *   steps        the engine's own replay, whole and in pieces, gives equal bits (on the host)
 *   quality      the fused program's distributions against those of the recipe's unfused program in
 *                float32, which the core carries
 *
 * Of a core for a GPU whole steps alone, whose distributions are held to the same bounds: the plain kernels
 * do not write the types that its programs have. Its steps have equal bits whole and in pieces where they
 * are run so that they are alike. Of a core that gives vectors or scores too, a text a position, whose results
 * are held to a bound on their error.
 *
 * Runs on the calling thread with a pool of its own for whole steps; minutes for large models.
 */

#include "engine/core/core.h"
#include <gio/gio.h>

typedef struct {
    unsigned n_threads; /* 0: all processors */
    bool is_alike;      /* on a GPU: as replay.h says */
    /* phase is one of "operations", "steps"; fraction of the whole, 0 to 1. */
    void (*progress)(const char *phase, double fraction, void *data);
    void *data;
    GCancellable *cancellable;
} SundogVerifyOptions;

/* One kind of operation over all calls that were recomputed. */
typedef struct {
    uint32_t n_calls;
    uint64_t n_bytes;     /* of results that were compared */
    uint64_t n_different; /* bytes that are not equal */
    double largest_error; /* of a call's float results, ‖fast − plain‖₂ / ‖plain‖₂ */
} SundogVerifyOperation;

typedef struct {
    const char *kernels; /* "avx512-vnni": the set that was compared with "plain"; NULL: none was */
    SundogVerifyOperation operations[SUNDOG_N_OPERATIONS];

    bool
        has_distributions; /* else vectors or scores, of which nothing past largest_error is known */
    uint32_t n_positions;  /* whose logits, or texts whose results, were compared */
    uint32_t n_unequal;    /* positions where two runs of the fused program differ */
    uint32_t n_not_finite; /* positions with a logit that is no number */
    double
        largest_error; /* of a position's logits, against the reference; of scores, where those are below 1,
                               the difference */
    double mean_divergence; /* Kullback-Leibler, nats */
    double p99_divergence;  /* nats */
    double mean_regret;     /* nats that the reference loses by taking the fused program's token */
    double alike;           /* share of positions with the same best token */
    char *problems;         /* a line for each thing that is wrong; NULL where the core is good */
} SundogVerifyReport;

/* Fills the report, whatever it finds; false where verifying itself was not possible. Clear it
 * afterwards, also on failure. */
bool sundog_verify(SundogCore *core, const SundogVerifyOptions *options, SundogVerifyReport *report,
                   GError **error);
void sundog_verify_report_clear(SundogVerifyReport *report);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SundogVerifyReport, sundog_verify_report_clear)
