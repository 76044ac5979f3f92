#pragma once

/*
 * Sampling of one token from one row of logits. All of a request's sampling state is here or in the
 * history, so that a request may be resubmitted after any token and go on with the same draws.
 *
 * Order: repetition, presence and frequency penalties over the history; temperature; top-k; softmax;
 * top-p; min-p (relative to the best); one draw. Temperature 0 takes the best token, the lowest id
 * among equals. Penalties follow their usual definitions: repetition divides positive and multiplies
 * negative logits; presence and frequency subtract once and per occurrence.
 *
 * Random numbers are counter-based: Philox4x32-10 (Salmon et al., SC 2011) with key `seed` and counter
 * `position`, the index of the token in the sequence. A row with NaN or no finite logit gives -1.
 */

#include "kernels/contract/types.h"

typedef struct {
    uint64_t seed;
    uint64_t position;
    float temperature;        /* 0 is greedy */
    float top_p;              /* 1 is off */
    float min_p;              /* 0 is off */
    float repetition_penalty; /* 1 is off */
    float presence_penalty;   /* 0 is off */
    float frequency_penalty;  /* 0 is off */
    int32_t top_k;            /* 0 is off */
    uint32_t n_history;       /* leading entries of the row's history that count */
} SundogSampling;

/* Bytes of workspace a unit for a vocabulary of n_vocabulary. */
size_t sundog_sample_workspace_bytes(int64_t n_vocabulary);
/* A uniform number in [0, 1) for a seed and position. */
double sundog_sample_uniform(uint64_t seed, uint64_t position);
