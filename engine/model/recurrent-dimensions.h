#pragma once

/* Reads the numbers of layers with recurrent state. Within this house. */

#include "engine/model/families.h"
#include "engine/model/keys.h"
#include "engine/model/model.h"

/* Fills dimensions->recurrent where the file tells of such layers. */
void sundog_recurrent_dimensions_read(SundogModelDimensions *dimensions, const SundogFamily *family,
                                      SundogKeys *keys);
/* Whether a layer is one of them. */
bool sundog_recurrent_layer(const SundogModelDimensions *dimensions, SundogKeys *keys,
                            uint32_t layer);
