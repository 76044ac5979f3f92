#pragma once

/* The two parts of verify; each fills its fields of the report. Within this house. */

#include "engine/prepare/verify-step.h"

/* progress gets 0 to 1 of the part. */
bool sundog_verify_operations(const SundogCore *core, const GPtrArray *prompts,
                              const SundogVerifyOptions *options, SundogVerifyReport *report,
                              GError **error);
bool sundog_verify_steps(SundogCore *core, const GPtrArray *prompts,
                         const SundogVerifyOptions *options, SundogVerifyReport *report,
                         GError **error);

/* Where the second part begins in the whole. */
#define SUNDOG_VERIFY_STEPS_FRACTION 0.5
