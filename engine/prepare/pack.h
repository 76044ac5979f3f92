#pragma once

/* Lays the planned weights out and streams them into the package: worker threads pack pieces, the
 * caller writes them in order. Memory is bounded by the pieces under way. Within this house. */

#include "engine/prepare/plan.h"

/* progress is called with 0 to 1 of the weights, on the calling thread. */
bool sundog_pack_weights(const SundogPlan *plan, SundogPackageWriter *writer,
                         const SundogPrepareOptions *options, void (*progress)(double, void *),
                         void *data, GError **error);
