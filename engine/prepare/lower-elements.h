#pragma once

/* From operations on rows, element by element or head by head, to launches. Within this house. */

#include "engine/prepare/lower-draft.h"

bool sundog_lower_is_elements(SundogOperationKind kind);
void sundog_lower_elements(SundogLowering *lowering, uint32_t index,
                           const SundogOperation *operation);
