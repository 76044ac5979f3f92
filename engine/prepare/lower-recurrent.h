#pragma once

/* From operations with recurrent state to launches: recurrent.h. Within this house. */

#include "engine/prepare/lower-draft.h"

bool sundog_lower_is_recurrent(SundogOperationKind kind);
void sundog_lower_recurrent(SundogLowering *lowering, uint32_t index,
                            const SundogOperation *operation);
