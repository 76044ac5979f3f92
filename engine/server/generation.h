#pragma once

/*
 * One request to the engine: a prompt's tokens in, text out. It lives from its submission to its end,
 * through any number of engines: what was produced is kept, and a new engine goes on from there.
 *
 * The user makes it, fills `submit` and the callbacks, and gives it to the supervisor, which calls
 * back until `ended`, exactly once. Cancelled by its user, it ends without a call. All on the server's
 * main context.
 */

#include "engine/server/api-error.h"
#include "engine/server/core-text.h"
#include "engine/text/decoder.h"
#include "engine/wire/automaton.h"
#include "engine/wire/messages.h"

typedef enum {
    SUNDOG_GENERATION_QUEUED,
    SUNDOG_GENERATION_PREFILL,
    SUNDOG_GENERATION_DECODE,
    SUNDOG_GENERATION_STOP,
    SUNDOG_GENERATION_LENGTH,
    SUNDOG_GENERATION_CANCELLED,
    SUNDOG_GENERATION_FAILED,
} SundogGenerationState;

typedef struct SundogGeneration SundogGeneration;

typedef struct {
    /* Text that may be shown now, valid UTF-8, not empty. */
    void (*text)(SundogGeneration *generation, const char *text, size_t n_bytes, void *data);
    /* Before the first token: "load", "queue" or "prefill" and how much of it is done. May be NULL. */
    void (*progress)(SundogGeneration *generation, const char *phase, double fraction, void *data);
    /* The end: error NULL with state STOP, LENGTH or CANCELLED, else FAILED and borrowed. */
    void (*ended)(SundogGeneration *generation, const SundogApiError *error, void *data);
} SundogGenerationCalls;

struct SundogGeneration {
    int n_references;
    char *name;           /* "chatcmpl-…" */
    const char *endpoint; /* static */
    char *key;            /* the client's, by its name, or NULL */
    SundogCoreText *core;
    SundogDecoder *decoder;
    GArray *prompt;   /* uint32_t */
    GArray *produced; /* uint32_t */
    GArray *scores;   /* SundogTokenScore, submit.n_scores a token, those of the prompt first */
    SundogGeneration *leader; /* another choice of the same prompt, or NULL */
    uint32_t *automaton;      /* words of the constraint, or NULL; in `submit` */
    GArray *biases;           /* SundogTokenBias, or NULL; in `submit` */
    GArray *breakers;         /* uint32_t, or NULL; in `submit` */
    SundogSubmit submit;      /* arrays are filled in when it is sent */
    bool wants_result;        /* a vector or scores, of a core that gives them, and no text */
    uint32_t n_first;         /* tokens of the first of two texts, where it does */
    GArray *result;           /* float, or NULL before it is there */
    SundogGenerationCalls calls;
    void *data;
    SundogGenerationState state;
    uint64_t id;      /* on the wire, 0 while not submitted */
    bool was_in_step; /* of the present engine */
    unsigned
        death_weight; /* of engines' deaths while it was in their steps, since its last token */
    uint32_t n_cached;
    uint32_t n_prefilled;
    int64_t started_at;   /* real time, microseconds */
    int64_t submitted_us; /* monotonic */
    int64_t first_us;     /* of the first token, or 0 */
    int64_t last_us;
    uint64_t prefill_us; /* as the engine measured it, or 0 */
    uint64_t decode_us;
    int64_t told_us; /* when its state was last published */
};

/* Takes the prompt (GArray of uint32_t). stops: NULL-terminated list or NULL, copied. */
SundogGeneration *sundog_generation_new(const char *prefix, const char *endpoint,
                                        SundogCoreText *core, GArray *prompt,
                                        const char *const *stops);
SundogGeneration *sundog_generation_ref(SundogGeneration *generation);
void sundog_generation_unref(SundogGeneration *generation);

bool sundog_generation_is_over(const SundogGeneration *generation);
/* Lets the prompt of `leader`, of which a reference is taken, be computed for both. Before it is
 * submitted. */
void sundog_generation_follow(SundogGeneration *generation, SundogGeneration *leader);
/* Adds to tokens' logits; a reference to the biases (SundogTokenBias) is taken. Before it is submitted. */
void sundog_generation_set_biases(SundogGeneration *generation, GArray *biases);
/* What DRY does not look across, as of dry-breakers.h; a reference is taken. Before it is submitted. */
void sundog_generation_set_breakers(SundogGeneration *generation, GArray *breakers);
/* Holds the answer to an automaton, which is taken. Before it is submitted. */
void sundog_generation_constrain(SundogGeneration *generation, SundogAutomaton *automaton);
/* As another one is held, which may not be at all. */
void sundog_generation_constrain_alike(SundogGeneration *generation, const SundogGeneration *other);
/* The payload of SUBMIT, or of EMBED where it wants a result, under this id; floating. */
GVariant *sundog_generation_pack(SundogGeneration *generation, uint64_t id);
/* What comes of it. */
void sundog_generation_take_result(SundogGeneration *generation, const SundogResult *result);
/* Takes token number index; false once a stop string ended it. Tokens known already are ignored. */
bool sundog_generation_feed(SundogGeneration *generation, uint32_t index, uint32_t token);
/* Takes the scores of tokens that come next; those known already are ignored. */
void sundog_generation_score(SundogGeneration *generation, const SundogScores *scores);
/* The entries [submit.n_scores] of the token at a position of prompt and answer, or NULL. */
const SundogTokenScore *sundog_generation_get_scores(const SundogGeneration *generation,
                                                     guint position);
/* Ends it and calls back. error NULL unless state is FAILED; taken. */
void sundog_generation_end(SundogGeneration *generation, SundogGenerationState state,
                           SundogApiError *error);
/* Ends it without a call: its user has gone. */
void sundog_generation_abandon(SundogGeneration *generation);

double sundog_generation_get_tokens_per_second(const SundogGeneration *generation);
/* As in GET /sundog/v1/requests; owned by the caller. */
JsonObject *sundog_generation_describe(const SundogGeneration *generation);
const char *sundog_generation_state_text(SundogGenerationState state);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogGeneration, sundog_generation_unref)
