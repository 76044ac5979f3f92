#pragma once

/* Reads the numbers of models that give vectors or scores. Within this house. */

#include "engine/model/families.h"
#include "engine/model/keys.h"
#include "engine/model/model.h"

/* Fills dimensions->pooled and is_bidirectional; hidden_size is there already. */
void sundog_pooled_dimensions_read(SundogModelDimensions *dimensions, const SundogFamily *family,
                                   SundogKeys *keys);
