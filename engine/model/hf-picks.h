#pragma once

/* What a row of a family's table takes of a tensor. Within this house. */

#include "engine/model/hf-family.h"
#include "engine/model/source.h"

/* The part of `found` that the row names, still under `found`'s name; a reader of the source where it does
 * not lie in one piece. An error where the tensor cannot have such a part. */
bool sundog_hf_pick(SundogSource *source, const SundogHfGroups *groups, const SundogHfTensor *row,
                    const SundogSourceTensor *found, SundogSourceTensor *picked, GError **error);
