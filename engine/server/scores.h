#pragma once

/*
 * Log probabilities of tokens as JSON. What they are of stands at SundogTokenScore: the model's own
 * distribution, before anything that a request asks for changes it. All tokens of an answer have them,
 * also those of its reasoning and its calls; those whose text a stop string took away have none.
 *
 * A token is told by its text; bytes that are no characters stand in it as \xNN, and its bytes stand
 * beside it. A control token has its spelling and no bytes. Minus infinity is told as -9999, as OpenAI does.
 */

#include "engine/server/generation.h"

/* How many of the produced tokens may be told: those whose text was. */
guint sundog_scores_count(const SundogGeneration *generation);
/* Of the produced tokens first to end - 1, an object each, with commas between: {"token", "logprob",
 * "bytes", "top_logprobs": [{"token", "logprob", "bytes"}]}, as OpenAI's chats and Ollama have it; with
 * "id", as llama-server. */
void sundog_scores_append(GString *json, const SundogGeneration *generation, guint first, guint end,
                          bool with_ids);
/* Of the tokens first to end - 1 of prompt and answer: {"tokens", "token_logprobs", "top_logprobs",
 * "text_offset"}, as OpenAI's completions have it. prompt: whose prompt was scored. n_characters: of the
 * text before, counted on. */
void sundog_scores_append_lists(GString *json, const SundogGeneration *generation,
                                const SundogGeneration *prompt, guint first, guint end,
                                size_t *n_characters);
/* The mean over all produced tokens; minus infinity where there is none. */
double sundog_scores_get_mean(const SundogGeneration *generation);
