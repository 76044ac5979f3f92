#pragma once

/*
 * latent_qkv: what attention over latents (DeepSeek-AI 2024, multi-head latent attention) takes for
 * queries, keys and values, once the projections of keys and values are absorbed in the queries and in
 * what is done with the results. One head of keys of size C serves all H heads of queries: P = rope_dims
 * values that are still to be rotated, then the latent of C - P values. Values are the same again, so
 * attention's result of a head is C values, of which the last C - P count.
 *
 *   q        [T, H S]        of each head the last P values are its rotary part
 *   absorbed [T, H (C - P)]  of each head, its other values times its projection of keys
 *   latent   [T, C]          the latent, not yet normed, then the rotary part of the key
 *   qkv      [T, (H + 2) C]  of head h: P values of q, then absorbed; of the key and of the value: the
 *                            rotary part, then rms_norm of the latent, as rms-norm.h has it
 * A row may be split over threads as long as the norm's sum is not.
 */

#include "kernels/contract/rms-norm.h"
