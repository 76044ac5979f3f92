#pragma once

/* Reads the numbers of a mixture of experts. Within this house. */

#include "engine/model/families.h"
#include "engine/model/keys.h"
#include "engine/model/model.h"

/* Fills dimensions->experts, after the other sizes were read. Experts in a family that has none here
 * are refused. */
void sundog_expert_dimensions_read(SundogModelDimensions *dimensions, const SundogFamily *family,
                                   SundogKeys *keys);
