#pragma once

/* From operations of experts to launches: experts.h. Within this house. */

#include "engine/prepare/lower-draft.h"

bool sundog_lower_is_experts(SundogOperationKind kind);
void sundog_lower_experts(SundogLowering *lowering, uint32_t index,
                          const SundogOperation *operation);
