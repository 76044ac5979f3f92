#pragma once

/* The plan as core.json's own fields (core.h says what they are). Within this house. */

#include "engine/prepare/plan.h"

/* Reads the model's file once for its hash; the caller unrefs the object. */
JsonObject *sundog_plan_to_manifest(const SundogPlan *plan, SundogModel *model,
                                    const SundogPrepareOptions *options, GError **error);
