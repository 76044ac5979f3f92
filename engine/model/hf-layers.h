#pragma once

/* What config.json says of each layer. Within this house. */

#include "engine/model/source.h"

/* Puts which layers have a window and which rotate into the source. A kind of layer that is not known
 * here is an error. */
bool sundog_hf_layers_read(SundogSource *source, JsonObject *config, GError **error);
