#pragma once

/*
 * Sampling of one token from one row of logits. All of a request's sampling state is here or in the
 * history, so that a request may be resubmitted after any token and go on with the same draws.
 *
 * A token whose logit is minus infinity cannot be chosen. In this order, float32 unless said:
 *   biases    each of the row's first n_bias entries is added to its token's logit, in their order
 *   penalties over the row's first n_history tokens: for each different one repetition divides a positive
 *   and multiplies another logit, once; then, with c its count among the last n_answered of them, where that
 *   is not 0, l = l - fma(c, frequency, presence)
 *   mask      where the row has one, the logits of tokens whose bit is 0 become minus infinity
 *   temperature 0: the best token, the lowest id among equals; else
 *   weights  w = floor(2^40 * exp((l - best) / temperature)) as an integer, math.h's exponential, so
 *            that sums do not depend on their order
 *   top-n-sigma  keeps logits of at least best - n * s, s the standard deviation of the finite ones;
 *            in double, sums by lanes (Tang et al., "Top-n sigma", 2024)
 *   top-k    keeps the k best, by logit, then the lower id; their weights sum to W
 *   typical  with x = (l - best) / temperature and m = sum(w x) / W, in double and by lanes: keeps the
 *            shortest run of the least |x - m| as float32, then the lower id, whose weights reach
 *            typical_p * W, one at least; W is theirs then. As -log p = log W - x, this is the
 *            distance of a token's information from the entropy (Meister et al., 2022)
 *   top-p    keeps the shortest run of the best whose weights reach top_p * W (double), one at least
 *   min-p    keeps weights of at least min_p times the greatest (double)
 *   xtc      where a second random number is below xtc_probability: of the tokens whose weights are at
 *            least xtc_threshold * W, W what is kept, all but the worst are left out
 *   draw     r = floor(uniform * sum of the kept); the first kept token, by id, where the running sum
 *            exceeds r
 * Biases, penalties and mask are left in the logits. A sum by lanes is one of 1,024 sums, of the tokens
 * whose ids are equal modulo 1,024 and in order of id, which are then folded: to the sum i is added the
 * sum i + 512, to what is left i + 256, and so on, so that threads may share it and the bits are the same.
 *
 * Scores: where n_scores is not 0, the row's first entries are the chosen token and the n_scores - 1
 * best tokens, by logit, then the lower id, each with its log probability in the model's own
 * distribution: of the logits as they came, before biases, penalties, mask, temperature and all that
 * leaves tokens out. It is (l - best) - log(sum), the sum of the weights for temperature 1 over 2^40,
 * in double, then rounded. Entries past the vocabulary hold token -1. With `given` nothing is drawn: the
 * token is given - 1, and only scored, as the tokens of a prompt are.
 *
 * Random numbers are counter-based, philox.h's, with key `seed` and counter
 * `position`, the index of the token in the sequence; xtc's has position + 2^63. A row with NaN or no
 * finite logit gives -1, and so does one with plus infinity. One thread works on a row; on a GPU a
 * block, which gives the same tokens. Its scores may differ by a unit in their last place, since each
 * library has a logarithm of its own.
 */

#include "kernels/contract/types.h"

typedef struct {
    uint64_t seed;
    uint64_t position;
    float temperature;        /* 0 is greedy */
    float top_n_sigma;        /* 0 is off */
    float typical_p;          /* 0 and 1 are off */
    float top_p;              /* 1 is off */
    float min_p;              /* 0 is off */
    float xtc_probability;    /* 0 is off */
    float xtc_threshold;      /* above 0.5 is off */
    float repetition_penalty; /* 1 is off */
    float presence_penalty;   /* 0 is off */
    float frequency_penalty;  /* 0 is off */
    int32_t top_k;            /* 0 is off */
    uint32_t n_history;       /* leading entries of the row's history that count */
    uint32_t n_answered;      /* of these, the last ones: the answer's, not the prompt's */
    uint32_t n_bias;          /* leading entries of the row's biases that count */
    uint32_t masked;          /* not 0: the row's mask counts */
    uint32_t n_scores;        /* leading entries of the row's scores that are wanted */
    uint32_t given;           /* not 0: the token is given - 1 */
} SundogSampling;

/* An entry of a row's biases, two words; a token outside the vocabulary is left out. */
typedef struct {
    int32_t token;
    float amount;
} SundogBias;

#define SUNDOG_BIAS_WORDS 2

/* An entry of a row's scores, two words. */
typedef struct {
    int32_t token;
    float log_probability;
} SundogScore;

#define SUNDOG_SCORE_WORDS 2
/* The token and the 20 best, as many as clients may ask for. */
#define SUNDOG_MAX_SCORES 21

#define SUNDOG_SAMPLE_LANES 1024
/* The weight of the best token. */
#define SUNDOG_WEIGHT_ONE 0x1p40f
/* Counter of xtc's random number, beside the draw's. */
#define SUNDOG_XTC_COUNTER ((uint64_t)1 << 63)

/* Words of 32 bits in a mask, token t the bit t % 32 of word t / 32; even, so that they may be made in
 * words of 64. */
#define SUNDOG_SAMPLE_MASK_WORDS(n_vocabulary) (((int64_t)(n_vocabulary) + 63) / 64 * 2)

/* Bytes of workspace a unit for a vocabulary of n_vocabulary. */
size_t sundog_sample_workspace_bytes(int64_t n_vocabulary);
