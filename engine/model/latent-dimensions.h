#pragma once

/* Reads the numbers of attention over latents. Within this house. */

#include "engine/model/keys.h"
#include "engine/model/model.h"

/* Fills dimensions->latent where the file tells of a rank, and sets what scores are scaled by; heads and
 * rotary settings are there already. */
void sundog_latent_dimensions_read(SundogModelDimensions *dimensions, SundogKeys *keys);
