#pragma once

/* Which layers' caches need no more than a window. Within this house; prepare asks recipe.h. */

#include "engine/model/model.h"

/* The most tokens that any layer which attends to this one's keys and values looks back to, itself
 * included; 0: one of them sees all. */
uint32_t sundog_windows_find_span(const SundogModelDimensions *dimensions, uint32_t kv_layer);
