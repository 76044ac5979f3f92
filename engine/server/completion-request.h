#pragma once

/*
 * A request for an answer, in the form that all dialects are translated into: what to read, which tools
 * there are, what form the answer is to have, how to sample. Endpoints fill it in; answer.h carries it
 * out, and alone knows what of it this server can do.
 */

#include "engine/server/prompt.h"
#include "engine/wire/messages.h"

/* Answers to one request, to all its prompts together. */
#define SUNDOG_MAX_CHOICES 128

typedef enum {
    SUNDOG_TOOL_CHOICE_AUTO,
    SUNDOG_TOOL_CHOICE_NONE,
    SUNDOG_TOOL_CHOICE_REQUIRED, /* one at least, any */
    SUNDOG_TOOL_CHOICE_NAMED,    /* tool_name */
} SundogToolChoice;

typedef enum {
    SUNDOG_ANSWER_FORMAT_TEXT,
    SUNDOG_ANSWER_FORMAT_JSON,    /* any JSON object */
    SUNDOG_ANSWER_FORMAT_SCHEMA,  /* schema */
    SUNDOG_ANSWER_FORMAT_GRAMMAR, /* grammar, in GBNF */
    SUNDOG_ANSWER_FORMAT_PATTERN, /* grammar, a regular expression */
    SUNDOG_ANSWER_FORMAT_CHOICE,  /* one of choices */
} SundogAnswerFormat;

typedef enum {
    SUNDOG_REASONING_DEFAULT, /* as the template does unasked */
    SUNDOG_REASONING_OFF,
    SUNDOG_REASONING_ON,
} SundogReasoning;

typedef struct {
    SundogCoreText *core;
    SundogPrompt prompt;
    GArray *further; /* SundogPrompt: plain texts or tokens, each answered as if alone; or NULL */
    SundogToolChoice tool_choice;
    char *tool_name;
    bool no_parallel_tool_calls;
    SundogAnswerFormat format;
    JsonNode *schema;
    bool is_strict; /* of the schema: as OpenAI's subset demands */
    char *grammar;
    char **choices; /* NULL-terminated, or NULL */
    SundogReasoning reasoning;
    char *effort; /* of reasoning, a word for the template, or NULL */
    bool stream;
    bool progress;         /* comments in the stream before the first token */
    char **stops;          /* NULL-terminated, or NULL */
    GArray *biases;        /* SundogTokenBias, or NULL */
    char **breaker_texts;  /* over which DRY does not look, NULL-terminated; NULL: DRY is off */
    GArray *breakers;      /* of dry-breakers.h, once they are found; or NULL */
    guint n_choices;       /* answers to each prompt, each with the seed one further; at least 1 */
    guint n_told;          /* of them, the best ones, which the client is told */
    bool tells_scores;     /* log probabilities, of which submit says how many */
    bool echo;             /* the prompt goes before the answer */
    int64_t keep_alive_ms; /* how long the core stays loaded unused after it; -1: for ever */
    /* Sampling, seed and max_tokens; UINT32_MAX where the client sets no limit. */
    SundogSubmit submit;
} SundogCompletionRequest;

SundogCompletionRequest *sundog_completion_request_new(void);
/* Of the exchange's model and length. NULL and the reason where there is no such core. */
SundogCompletionRequest *sundog_completion_request_new_for(SundogExchange *exchange,
                                                           const char *model,
                                                           SundogApiError **error);
void sundog_completion_request_free(SundogCompletionRequest *request);

guint sundog_completion_request_get_n_prompts(const SundogCompletionRequest *request);
/* Of the first, 0, and the further ones. Borrowed. */
const SundogPrompt *sundog_completion_request_get_prompt(const SundogCompletionRequest *request,
                                                         guint index);
/* One more after those that there are; for the caller to fill in, before the next is added. */
SundogPrompt *sundog_completion_request_add_prompt(SundogCompletionRequest *request);

/* Sampling, seed and penalties from an object's members, which have the same names in OpenAI's body and
 * Ollama's options; the core's profile where they are absent. Needs the core. */
bool sundog_completion_request_read_sampling(SundogCompletionRequest *request, JsonObject *object,
                                             SundogApiError **error);
/* How many entries of log probabilities are told of each token; 0: none. */
void sundog_completion_request_set_scores(SundogCompletionRequest *request, guint n_scores);
/* A text or a list of texts. */
bool sundog_completion_request_read_stops(SundogCompletionRequest *request, JsonObject *object,
                                          const char *key, SundogApiError **error);

/* Once all is read: what the request says of reasoning becomes variables of the template. */
void sundog_completion_request_settle(SundogCompletionRequest *request);
/* Encodes the prompt and replies: with the error, or by `reply`, which must. Takes the request. */
void sundog_completion_request_encode(SundogCompletionRequest *request, SundogExchange *exchange,
                                      void (*reply)(SundogExchange *exchange,
                                                    const SundogCompletionRequest *request,
                                                    const SundogEncoded *encoded));

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogCompletionRequest, sundog_completion_request_free)
