#pragma once

/* What is done with a model's vectors and scores before they are told. */

#include <glib.h>
#include <stdint.h>

/* The first `n` values scaled to length 1, as all dialects give vectors; a vector of nothing stays. Owned by
 * the caller. */
float *sundog_vector_normalize(const float *values, uint32_t n);
/* A score from 0 to 1: of one value its sigmoid, of several the first one's share of their softmax. */
double sundog_score_of(const float *values, uint32_t n);
/* Appends a JSON array; or a text, the values in base64 as little-endian float32. */
void sundog_vector_print(GString *json, const float *values, uint32_t n);
void sundog_vector_print_base64(GString *json, const float *values, uint32_t n);
