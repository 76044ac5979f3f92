#pragma once

/* Reads what differs from layer to layer. Within this house. */

#include "engine/model/families.h"
#include "engine/model/keys.h"
#include "engine/model/model.h"

/* A count of 1 to max that may be a list in families whose layers differ: then the greatest. */
uint32_t sundog_layers_read_greatest(SundogKeys *keys, const SundogFamily *family, const char *name,
                                     uint32_t n_layers, uint32_t max);
/* Allocates and fills dimensions->layers; all else is there already, and keys have not failed. */
void sundog_layers_read(SundogKeys *keys, const SundogFamily *family,
                        SundogModelDimensions *dimensions);
