#pragma once

/* From what attention over latents adds to launches: latent.h, and linear_heads of linear.h. Within this house. */

#include "engine/prepare/lower-draft.h"

void sundog_lower_linear_heads(SundogLowering *lowering, uint32_t index,
                               const SundogOperation *operation);
void sundog_lower_latent_qkv(SundogLowering *lowering, uint32_t index,
                             const SundogOperation *operation);
/* True where attention's keys and values are one: queries, keys and values come from latent_qkv. */
bool sundog_lower_attends_latents(const SundogLowering *lowering, const SundogOperation *attention);
