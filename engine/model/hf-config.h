#pragma once

/* config.json: which family a model is of, and its settings under GGUF's names. Within this house. */

#include "engine/model/hf-family.h"
#include "engine/model/source.h"

/* The family of the first class that "architectures" names; NULL and an error that names what is known. */
const SundogHfFamily *sundog_hf_config_find_family(JsonObject *config, GError **error);
/* The object that holds the text model's settings: the root, or "text_config" within. */
JsonObject *sundog_hf_config_get_text(JsonObject *config);

/* Puts all settings into the source, and the tensor of rotary factors where Llama 3's scaling asks for
 * one. A setting that changes what the model computes and that is not known here is an error. */
bool sundog_hf_config_read(SundogSource *source, const SundogHfFamily *family, JsonObject *config,
                           GError **error);
/* A size that must be there: a whole number from 1 on. */
bool sundog_hf_config_get_size(JsonObject *config, const char *name, uint64_t *size,
                               GError **error);
