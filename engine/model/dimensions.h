#pragma once

/* Reads a model's numbers from its source and checks each against its range and the others. */

#include "engine/model/model.h"
#include "engine/model/source.h"

/* Fills all but n_vocabulary and n_parameters, which the vocabulary and the tensors tell; to be cleared
 * also on failure, and not to be moved, since its layers point into it. Texts are borrowed from the
 * file; `fallback_name` stands in for a missing name. */
bool sundog_dimensions_read(SundogModelDimensions *dimensions, const SundogSource *source,
                            const char *fallback_name, GError **error);
void sundog_dimensions_clear(SundogModelDimensions *dimensions);
