#pragma once

/* Rotary embedding's inverse frequencies with every scaling in them, computed in double precision.
 * Sources: Su et al. 2021 (rotary), Chen et al. 2023 (linear), Peng et al. 2023 (YaRN); Llama 3's
 * scaling comes from the file as a factor of each frequency. Within this house. */

#include "engine/model/model.h"

/* [n_dims / 2]; factors is the model's tensor [1, n_dims / 2] or NULL. Owned by the caller. A file
 * whose settings give a frequency that is no number above 0 is refused. */
float *sundog_rope_dup_inverse_frequencies(const SundogRope *rope, const SundogTensor *factors,
                                           GError **error);
/* A vector's values, or NULL where there is none; owned by the caller. The model house has checked that they
 * are plain floats. */
double *sundog_rope_dup_values(const SundogTensor *vector);
/* What cosine and sine are multiplied by: what the file says, else above 1 for YaRN alone. */
double sundog_rope_get_magnitude(const SundogRope *rope);
