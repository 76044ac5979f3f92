#pragma once

/*
 * Lowers a program to a launch list for a CUDA architecture: runs of operations become launches of the
 * kernels that this build carries for it. Within this house.
 */

#include "engine/core/launch-list.h"

/* Blocks that attention of some rows is cut into, so that each multiprocessor has about two. */
#define SUNDOG_LOWER_ATTENTION_BLOCKS 256

/* The modules that launch lists and the replayer itself take, by name. Ends with NULL. */
extern const char *const sundog_lower_modules[];

/* True for the names of CUDA architectures, "sm_90a". */
bool sundog_lower_is_target(const char *target);

/* With `rounds`, products of quantized weights for few tokens round x to bytes. NULL where an operation has
 * no kernel for its sizes, or this build no cubins for the target. */
SundogLaunchList *sundog_lower(const SundogProgram *program, const char *target, bool rounds,
                               GError **error);
