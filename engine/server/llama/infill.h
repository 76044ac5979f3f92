#pragma once

/*
 * Prompts for what stands between two texts, for vocabularies with the tokens of it. Their spellings are
 * those of the models that are made for it; the order is prefix, suffix, middle (Bavarian and others
 * 2022, section 3).
 */

#include "engine/server/core-text.h"

/* Tokens (GArray of uint32_t), owned by the caller; NULL where the vocabulary has none of the kind.
 * before: further texts of the same project, each as a file of its own, or NULL ("filename", "text"). */
GArray *sundog_infill_encode(const SundogCoreText *core, const char *prefix, const char *suffix,
                             JsonArray *before);
