#pragma once

/*
 * The engine of a core that gives vectors or scores: texts in, steps run, results out. A text is one
 * sequence, whole in one step, since its tokens may see all others; what it keeps ends with the step. Texts
 * are taken in their order, as many together as a step does well with. What a result holds depends
 * on its own text alone, bit for bit.
 *
 * One thread. Everything it has to say is appended to the outbox as frames, which the caller writes
 * after each call.
 */

#include "engine/schedule/step-runner.h"
#include "engine/wire/messages.h"

typedef struct SundogEmbedder SundogEmbedder;

/* Borrows runner, whose core has results, and outbox. A text may have context_length tokens. */
SundogEmbedder *sundog_embedder_new(const SundogStepRunner *runner, uint32_t context_length,
                                    GByteArray *outbox);
void sundog_embedder_free(SundogEmbedder *embedder);

uint32_t sundog_embedder_get_context_length(const SundogEmbedder *embedder);
/* Queues a text that arrived at a time of g_get_monotonic_time(). One that cannot be answered gets its
 * FAULT at once; an id that is in use is ignored, since the text it names must go on. */
void sundog_embedder_submit(SundogEmbedder *embedder, const SundogEmbed *embed, int64_t arrived_us);
/* Ends a text before the next step; an id not known is ignored. */
void sundog_embedder_cancel(SundogEmbedder *embedder, uint64_t id);
bool sundog_embedder_has_work(const SundogEmbedder *embedder);
/* Runs one step; does nothing without work. */
void sundog_embedder_step(SundogEmbedder *embedder);
void sundog_embedder_get_statistics(const SundogEmbedder *embedder, SundogStatistics *statistics);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogEmbedder, sundog_embedder_free)
