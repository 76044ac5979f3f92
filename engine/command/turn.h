#pragma once

/* One turn of a conversation on the terminal: messages to a prompt, the answer printed as it comes.
 * Used by `run` and `chat`. */

#include "engine/command/engine-session.h"

/* A value below 0 is the core's own. */
typedef struct {
    double temperature;
    double top_p;
    double min_p;
    double repetition_penalty;
    int64_t top_k;
    int64_t seed;       /* -1: another each time */
    int64_t max_tokens; /* 0: to the end of the context */
} SundogTurnSampling;

/* Options of a command that samples; `sampling` starts with these and is set by them. */
#define SUNDOG_TURN_SAMPLING_DEFAULTS                                                       \
    {                                                                                       \
        .temperature = -1, .top_p = -1, .min_p = -1, .repetition_penalty = -1, .top_k = -1, \
        .seed = -1                                                                          \
    }
#define SUNDOG_TURN_SAMPLING_OPTIONS(sampling)                                                       \
    {"temperature",                                                                                  \
     't',                                                                                            \
     0,                                                                                              \
     G_OPTION_ARG_DOUBLE,                                                                            \
     &(sampling).temperature,                                                                        \
     "0 is always the likeliest token; else as the core says",                                       \
     "T"},                                                                                           \
        {"top-k", 0, 0, G_OPTION_ARG_INT64, &(sampling).top_k, "of the K likeliest; 0: all", "K"},   \
        {"top-p", 0, 0, G_OPTION_ARG_DOUBLE, &(sampling).top_p, "of the likeliest P in sum", "P"},   \
        {"min-p", 0, 0, G_OPTION_ARG_DOUBLE, &(sampling).min_p, "of P of the likeliest or more",     \
         "P"},                                                                                       \
        {"repetition-penalty",           0,  0, G_OPTION_ARG_DOUBLE, &(sampling).repetition_penalty, \
         "against repeating; 1 is none", "R"},                                                       \
        {"seed", 0, 0, G_OPTION_ARG_INT64, &(sampling).seed, "the same seed, the same answer", "N"}, \
    {                                                                                                \
        "max-tokens", 'n', 0, G_OPTION_ARG_INT64, &(sampling).max_tokens,                            \
            "length of the answer; 0: as long as it wants", "N"                                      \
    }

/* False, with an error of G_OPTION_ERROR, where a value is out of its range. */
bool sundog_turn_sampling_check(const SundogTurnSampling *sampling, GError **error);

/* The prompt's tokens of messages under the core's template; owned by the caller. */
GArray *sundog_turn_encode(const SundogEngineSession *session, JsonArray *messages, GError **error);
/* Asks with a prompt's tokens and prints the answer on standard output, without a line's end; the
 * text comes back too where it is wanted (owned by the caller). */
bool sundog_turn_answer(SundogEngineSession *session, const GArray *prompt,
                        const SundogTurnSampling *sampling, char **answer, SundogFinish *finish,
                        GError **error);
/* "43 tokens, 512.3 tokens/s; prompt 31 tokens (12 reused), 1,204 tokens/s" on standard error. */
void sundog_turn_tell_timing(const SundogFinish *finish);
