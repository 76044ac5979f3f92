#pragma once

/* The makers' advice on sampling, out of GGUF's metadata or generation_config.json. Within this house. */

#include "engine/format/gguf.h"
#include <json-glib/json-glib.h>

/* Both give a new object, or NULL where nothing is stated within its range. */
JsonObject *sundog_sampling_advice_of_gguf(const SundogGguf *gguf);
JsonObject *sundog_sampling_advice_of_config(JsonObject *generation_config);
