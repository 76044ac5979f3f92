#pragma once

/*
 * One answer under way, between the generation and the dialect that tells it. It goes through these
 * steps: the prompt is encoded; what cannot be served is refused, with a status and not within a
 * stream; the form's begin; then pieces of reasoning, text and tool calls as they come, which are kept
 * here as well; then the form's end, or its fail. A client that leaves ends it without a further call.
 *
 * An answer may have several choices, each an answer of its own that shares the first one's request,
 * exchange and form: so many to each of the request's prompts, in their order. Choice i of a prompt draws with
 * the request's seed + i, so that each can be had alone as well. A prompt is computed once. A dialect that
 * knows no choices is told of the only one.
 *
 * All on the server's main context. Plain answers of slow generations: the connection is silent until
 * the answer is whole, since JSON has no place for a sign of life and HTTP no second status; clients
 * with short timeouts ask for a stream. The kernel's keep-alive probes tell a client that is gone.
 */

#include "engine/server/completion-request.h"
#include "engine/server/service.h"
#include "engine/text/output/output-parser.h"

typedef enum {
    SUNDOG_ANSWER_STOP,          /* the model ended its turn, or a person its request */
    SUNDOG_ANSWER_STOP_SEQUENCE, /* a stop string of the client */
    SUNDOG_ANSWER_LENGTH,
    SUNDOG_ANSWER_TOOL_CALLS,
} SundogAnswerReason;

typedef struct {
    char *id;
    char *name;
    GString *arguments; /* JSON, as far as it has come */
} SundogToolCall;

typedef struct SundogAnswer SundogAnswer;

/* How a dialect tells an answer. Pieces are told in streams alone; all but the two ends may be
 * NULL. */
typedef struct {
    const char *endpoint;  /* as in GET /sundog/v1/requests */
    const char *id_prefix; /* of the answer's name */
    void (*begin)(SundogAnswer *answer);
    void (*reasoning)(SundogAnswer *answer, const char *text, size_t n_bytes);
    void (*text)(SundogAnswer *answer, const char *text, size_t n_bytes);
    /* A call begins: its id and name are there; then pieces of its arguments. */
    void (*tool_call)(SundogAnswer *answer, guint index);
    void (*arguments)(SundogAnswer *answer, guint index, const char *text, size_t n_bytes);
    void (*progress)(SundogAnswer *answer, const char *phase, double fraction);
    /* A choice ended well, in a stream; may be NULL. */
    void (*end_choice)(SundogAnswer *answer);
    /* All ended well: one of them ends the stream, the other replies with the whole. Of the first choice. */
    void (*end_stream)(SundogAnswer *answer);
    void (*reply)(SundogAnswer *answer);
    /* It failed on its way; NULL: as the exchange fails. */
    void (*fail)(SundogAnswer *answer, const SundogApiError *error);
    void (*free_data)(void *data);
} SundogAnswerForm;

struct SundogAnswer {
    SundogExchange *exchange;
    SundogServer *server;
    SundogCompletionRequest *request;
    SundogGeneration *generation; /* from begin on */
    const SundogAnswerForm *form;
    void *data;      /* the form's own */
    int64_t created; /* seconds since 1970 */
    GString *reasoning;
    GString *text;
    GPtrArray *tool_calls;      /* SundogToolCall */
    SundogOutputParser *parser; /* NULL where all is content */
    const SundogPrompt *prompt; /* borrowed of the request */
    guint index;                /* of the choice, as it is told */
    SundogAnswer *head;         /* the first choice of the same prompt */
    guint n_told_scores;        /* tokens whose log probabilities went out in the stream */
    size_t n_told_characters;   /* of the text whose tokens were told, prompt and all */
    bool has_begun;             /* its first chunk went out */
    SundogAnswer *first; /* the first choice: this one, mostly. What follows counts there alone */
    GPtrArray *choices;  /* SundogAnswer, in their order */
    guint n_open;        /* of them, not over */
    bool is_feeding;     /* pieces are being told: what they came from must stay */
    bool is_gone;        /* the client left meanwhile */
    bool is_cancelling;  /* its choices are being cancelled one by one */
};

/* Begins the answer; replies in any case. Takes request and data. */
void sundog_answer_start(SundogExchange *exchange, SundogCompletionRequest *request,
                         const SundogAnswerForm *form, void *data);

SundogAnswerReason sundog_answer_get_reason(const SundogAnswer *answer);
/* The client's stop string that ended it, or NULL. */
const char *sundog_answer_get_stop(const SundogAnswer *answer);
/* Tokens of prompts and answers; cached: of the prompts, taken from earlier requests. Of all choices
 * together, each prompt counted once. */
guint sundog_answer_get_n_prompt(const SundogAnswer *answer);
guint sundog_answer_get_n_cached(const SundogAnswer *answer);
guint sundog_answer_get_n_produced(const SundogAnswer *answer);
/* The tokens of this choice whose log probabilities may be told in the stream now and were not: first to
 * the end that is returned, which counts as told. The two are equal where none were asked for. */
guint sundog_answer_take_scores(SundogAnswer *answer, guint *first);
