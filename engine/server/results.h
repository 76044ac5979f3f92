#pragma once

/*
 * The texts of one request for vectors or scores: encoded, each a request to the engine of its own, and
 * answered when all have a result. A few are at the engine at a time, so that other clients' come
 * between. A client that leaves ends them.
 *
 * new, add texts or pairs, start, which replies in any case. All on the server's main context; long texts
 * are encoded on a thread of their own.
 */

#include "engine/server/generation.h"
#include "engine/server/service.h"

/* Texts of one request, as OpenAI takes them. */
#define SUNDOG_RESULTS_MAX 2048

typedef struct SundogResults SundogResults;

typedef struct {
    const char *endpoint; /* as in GET /sundog/v1/requests */
    const char *param;    /* the field that the texts are of, for errors */
    bool truncates;       /* texts beyond what the core takes, else they are refused */
    int64_t keep_alive_ms;
    /* All results are there. */
    void (*reply)(SundogResults *results, SundogExchange *exchange, void *data);
    void *data;
    GDestroyNotify free_data;
} SundogResultsOptions;

/* Takes a reference to the core. NULL, and the reason in *error, where it is not for that purpose, "embed"
 * or "rerank". */
SundogResults *sundog_results_new(SundogExchange *exchange, SundogCoreText *core,
                                  const char *purpose, const SundogResultsOptions *options,
                                  SundogApiError **error);
/* Before it is started. */
void sundog_results_free(SundogResults *results);

/* Whether a field holds a text or a list, before anything else is asked. */
bool sundog_results_check_input(JsonObject *object, const char *key, SundogApiError **error);
/* What the makers of the core's model would have put before each text of those that are added from now on,
 * by its name; NULL: what they say is usual, or nothing. False and an error for a name that is none. */
bool sundog_results_set_prompt(SundogResults *results, const char *name, SundogApiError **error);
/* A text; or a query and a document, as the core takes such pairs. Copied. */
void sundog_results_add(SundogResults *results, const char *text, const char *second);
/* Tokens (GArray of uint32_t), taken. */
void sundog_results_add_tokens(SundogResults *results, GArray *tokens);
/* Takes it. */
void sundog_results_start(SundogResults *results);

guint sundog_results_get_n(const SundogResults *results);
const SundogCoreText *sundog_results_get_core(const SundogResults *results);
/* What the model gives of text i: [*n_values]. In reply. */
const float *sundog_results_get(const SundogResults *results, guint index, uint32_t *n_values);
/* The same as a vector of length 1, of its first dimensions; 0: all of them. Owned by the caller. */
float *sundog_results_dup_vector(const SundogResults *results, guint index, int64_t n_dimensions,
                                 uint32_t *n_values);
/* Tokens of all texts. */
guint sundog_results_get_n_tokens(const SundogResults *results);
int64_t sundog_results_get_us(const SundogResults *results);
