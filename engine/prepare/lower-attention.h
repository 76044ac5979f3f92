#pragma once

/* From operations of attention to launches: attention.h and rope-cache.h. Within this house. */

#include "engine/prepare/lower-draft.h"

void sundog_lower_plan_attention(SundogLowering *lowering, uint32_t index,
                                 const SundogOperation *operation);
void sundog_lower_rope_cache(SundogLowering *lowering, uint32_t index,
                             const SundogOperation *operation);
/* True for attention of the sizes that the fast kernels know, which can also rotate and store. They take
 * queries beside their keys and values, not alone, as layers have them that attend to another's. */
bool sundog_lower_knows_heads(const SundogLowering *lowering, const SundogOperation *operation);
/* With `rope`, the operation before it, in the same launch; else NULL. `index` is of the first. */
void sundog_lower_attention(SundogLowering *lowering, uint32_t index, const SundogOperation *rope,
                            const SundogOperation *operation);
