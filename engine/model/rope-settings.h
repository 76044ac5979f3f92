#pragma once

/* Reads the settings of the rotary embedding. Within this house. */

#include "engine/model/families.h"
#include "engine/model/keys.h"
#include "engine/model/model.h"

/* Fills dimensions->rope and ->window_rope; head_dim, window and context_length are there already. */
void sundog_rope_settings_read(SundogKeys *keys, const SundogFamily *family,
                               SundogModelDimensions *dimensions);
