#pragma once

/*
 * The messages of wire version 3 and the C structs they become. One list gives number, direction and
 * payload type; the pack and unpack functions are beside it in messages.c.
 *
 * Life of an engine: it writes HELLO, PROGRESS while loading, then READY, or FAULT with id 0 and ends.
 * After READY: SUBMIT (EMBED where the core gives vectors or scores) and CANCEL at any time, VOCABULARY once before the first SUBMIT with an automaton. For each request the engine writes ADMITTED when it
 * first packs it into a step, PREFILL after each finished chunk, TOKENS after each step, SCORES of tokens
 * before these tokens, and exactly one FINISH or FAULT. STATISTICS come when asked for, and when nothing is left to do. After CANCEL
 * the FINISH comes within one step, with reason "cancelled"; an id not known is ignored. SHUTDOWN, or
 * end of input, ends the engine (SHUTDOWN lets running requests end first).
 *
 * X(NAME, number, GVariant type)
 */

#include "engine/wire/frame.h"

#define SUNDOG_WIRE_VERSION 4

#define SUNDOG_MESSAGES(X)                                                                       \
    /* server to engine */                                                                       \
    X(SUBMIT, 1, "(tauauuau(dddddddddduitu)aua(ud)(dduuau)ut)") /* see SundogSubmit */           \
    X(CANCEL, 2, "(t)")                                         /* request id */                 \
    X(STATISTICS_ASKED, 3, "()")                                                                 \
    X(SHUTDOWN, 4, "()")                                                                         \
    X(VOCABULARY, 5, "(auay)") /* see SundogWireVocabulary */                                    \
    X(EMBED, 6, "(tauu)")      /* see SundogEmbed */                                             \
    /* engine to server */                                                                       \
    X(HELLO, 16, "(uss)")    /* wire version, engine version, core name */                       \
    X(PROGRESS, 17, "(sd)")  /* phase: "verify", "weights", "warm"; fraction 0 to 1 */           \
    X(READY, 18, "(a{sv})")  /* see SundogReady */                                               \
    X(ADMITTED, 19, "(t)")   /* request id */                                                    \
    X(PREFILL, 20, "(tuuu)") /* id, prompt tokens done, prompt tokens, of them from the cache */ \
    X(TOKENS, 21,                                                                                \
      "(ta(tuu))") /* step number; for each row: id, index of the token among those   \
                                  produced (from 0, resumed ones counted), token */          \
    X(FINISH, 22, "(tsuuutttt)") /* see SundogFinish */                                          \
    X(FAULT, 23, "(tss)")        /* id or 0, code, text for a person */                          \
    X(STATISTICS, 24, "(a{sv})") /* see SundogStatistics */                                      \
    X(SCORES, 25, "(tuua(ud))")  /* see SundogScores */                                          \
    X(RESULT, 26, "(tay)")       /* see SundogResult */

typedef enum {
#define X(name, number, type) SUNDOG_MESSAGE_##name = number,
    SUNDOG_MESSAGES(X)
#undef X
} SundogMessage;

/* The payload's GVariant type; NULL for a number that is no message. */
const char *sundog_message_signature(uint32_t number);

/* Codes of a FAULT. X(NAME, text) */
#define SUNDOG_FAULT_CODES(X)                                                          \
    X(LOAD_FAILED, "load_failed")       /* id 0: the core cannot be loaded */          \
    X(CONTEXT_LENGTH, "context_length") /* prompt and answer cannot fit the context */ \
    X(NOT_FINITE, "not_finite")         /* NaN or infinity in the logits */            \
    X(BAD_REQUEST, "bad_request")       /* token out of range, value out of range */   \
    X(UNSUPPORTED, "unsupported")       /* the core's target has no kernel for it */   \
    X(CONSTRAINT, "constraint")         /* it cannot be read, or cannot be followed */ \
    X(INTERNAL, "internal")

typedef enum {
#define X(name, text) SUNDOG_FAULT_##name,
    SUNDOG_FAULT_CODES(X)
#undef X
} SundogFaultCode;

const char *sundog_fault_code_text(SundogFaultCode code);

typedef struct {
    uint64_t id; /* 0: the engine itself */
    SundogFaultCode code;
    const char *text; /* for a person */
} SundogFault;

typedef enum {
    SUNDOG_SUBMIT_NO_PREFIX = 1, /* do not reuse or keep a prefix */
    SUNDOG_SUBMIT_NO_DRAFTS = 2, /* a token a step, as a benchmark of decoding wants it */
    /* the prompt's tokens are scored too: its prefix is computed anew, and kept for others */
    SUNDOG_SUBMIT_SCORE_PROMPT = 4,
    SUNDOG_SUBMIT_ALL_FLAGS = 7,
} SundogSubmitFlags;

/* Added to a token's logit. */
typedef struct {
    uint32_t token;
    double amount; /* minus infinity: never this token */
} SundogTokenBias;

/* A token and its natural logarithm of probability. Wherever scores are told, they are of the model's own
 * distribution: of the logits as they came, before biases, penalties, constraints, temperature and
 * filters. So do OpenAI and vLLM. */
typedef struct {
    uint32_t token;
    double log_probability; /* may be minus infinity */
} SundogTokenScore;

/* The scores of tokens that follow one another: of each the token itself, then the best ones in falling
 * order, which it may be among. */
typedef struct {
    uint64_t id;
    uint32_t position; /* of the first token in the sequence, the prompt counted; at least 1 */
    uint32_t n_each;   /* entries a token, at least 1 */
    const SundogTokenScore *entries; /* [n_tokens, n_each] */
    uint32_t n_tokens;
} SundogScores;

/* As many entries a token as can be asked for: the token and 20 rivals. */
#define SUNDOG_WIRE_MAX_SCORES 21

/* DRY ("don't repeat yourself"): a token that would make the end of the text go on as it did before, by a
 * run of more than allowed_length tokens, loses multiplier * base ^ (length of the run - allowed_length).
 * No run reaches across a breaker: one of some tokens, its heads, and behind it those of a tail, which may be
 * empty. */
typedef struct {
    double multiplier; /* 0: off */
    double base;
    uint32_t allowed_length;
    uint32_t window;          /* last tokens of prompt and answer that are looked at */
    const uint32_t *breakers; /* [n_breakers] words: of each n_heads, heads, n_tail, tail */
    uint32_t n_breakers;
} SundogDry;

/* What masks know of tokens: their bytes, one token's behind the other's. A control token's are its
 * spelling behind SUNDOG_AUTOMATON_CONTROL_BYTE; those that are never answered have none. */
typedef struct {
    const uint32_t *ends; /* [n_tokens] where each token's bytes end */
    uint32_t n_tokens;
    const uint8_t *bytes; /* [n_bytes] */
    size_t n_bytes;
} SundogWireVocabulary;

typedef struct {
    uint64_t id;            /* not 0; chosen by the server, never reused within one engine */
    const uint32_t *prompt; /* [n_prompt] at least one token */
    uint32_t n_prompt;
    const uint32_t *produced; /* [n_produced] tokens already produced, when resubmitted */
    uint32_t n_produced;
    uint32_t max_tokens;  /* produced ones included; 0: the prompt alone */
    const uint32_t *ends; /* [n_ends] tokens that end the answer; the end token is not sent */
    uint32_t n_ends;
    double temperature;
    double top_p;
    double min_p;
    double repetition_penalty;
    double presence_penalty;
    double frequency_penalty;
    uint32_t
        penalty_window; /* last tokens of prompt and answer that penalties look at; 0: all. Repetition
                           counts those of the prompt too, presence and frequency the answer's alone */
    int32_t top_k;
    double typical_p;       /* 0 and 1: off, as in kernels/contract/sample.h with what follows */
    double top_n_sigma;     /* 0: off */
    double xtc_probability; /* 0: off */
    double xtc_threshold;
    uint64_t seed;
    uint32_t flags;            /* of SundogSubmitFlags */
    const uint32_t *automaton; /* [n_automaton] as automaton.h writes it; none: anything */
    uint32_t n_automaton;
    const SundogTokenBias *biases; /* [n_biases] */
    uint32_t n_biases;
    SundogDry dry;
    uint32_t n_scores; /* entries of the SCORES of each token; 0: none are told */
    uint64_t follows;  /* a request with the same prompt, which is computed once; 0: none */
} SundogSubmit;

/* A text for a core that gives vectors or scores, in place of a SUBMIT. */
typedef struct {
    uint64_t id;            /* as a SUBMIT's */
    const uint32_t *tokens; /* [n_tokens] at least one */
    uint32_t n_tokens;
    uint32_t n_first; /* that are of the first of two texts; all where there is one */
} SundogEmbed;

/* What comes of it, before its FINISH. */
typedef struct {
    uint64_t id;
    const float *values; /* [n_values], as this machine writes them; aligned where unpacked */
    uint32_t n_values;
} SundogResult;

typedef struct {
    uint32_t context_length; /* tokens a sequence may have */
    uint32_t n_vocabulary;
    uint32_t max_sequences; /* at once in steps; more wait in the queue */
    uint32_t max_step_tokens;
    uint32_t page_tokens;
    uint64_t pool_pages;
    uint64_t memory_bytes; /* weights, arena and pools */
    uint32_t n_threads;
    char device[64]; /* "host: AVX-512 VNNI, 2 threads" */
} SundogReady;

typedef enum {
    SUNDOG_FINISH_STOP,   /* an end token */
    SUNDOG_FINISH_LENGTH, /* max_tokens or the context's end */
    SUNDOG_FINISH_CANCELLED,
} SundogFinishReason;

typedef struct {
    uint64_t id;
    SundogFinishReason reason; /* "stop", "length", "cancelled" on the wire */
    uint32_t n_prompt;
    uint32_t n_cached; /* prompt tokens taken from an earlier request */
    uint32_t n_produced;
    uint64_t queue_us;   /* from SUBMIT to the first step */
    uint64_t prefill_us; /* from the first step to the first token */
    uint64_t decode_us;  /* from the first token to the last */
    uint64_t step;       /* number of the last step */
} SundogFinish;

/* Counters kept as they happen. X(name): uint64_t since the start unless said. */
#define SUNDOG_STATISTICS(X)                                                     \
    X(n_steps)                                                                   \
    X(n_prompt_tokens)                                                           \
    X(n_cached_tokens)                                                           \
    X(n_restored_tokens)       /* of them, from records */                       \
    X(n_restored_draft_tokens) /* by the small core that drafts, from records */ \
    X(n_produced_tokens)                                                         \
    X(n_drafted_tokens)  /* guessed and tried */                                 \
    X(n_accepted_tokens) /* of them, proved right */                             \
    X(n_finished)                                                                \
    X(n_cancelled)                                                               \
    X(n_running)      /* now */                                                  \
    X(n_queued)       /* now */                                                  \
    X(n_pages_used)   /* now, by running requests */                             \
    X(n_pages_cached) /* now, kept for reuse */                                  \
    X(step_us)        /* sum of the time of all steps */

typedef struct {
#define X(name) uint64_t name;
    SUNDOG_STATISTICS(X)
#undef X
} SundogStatistics;

/* Each pack returns a floating payload; each unpack checks all ranges that the wire itself knows and
 * borrows arrays and texts from the payload. Where a SUBMIT is refused for a value out of range,
 * submit->id is still set, so that the engine can answer with a FAULT of that request. */
GVariant *sundog_submit_pack(const SundogSubmit *submit);
bool sundog_submit_unpack(GVariant *payload, SundogSubmit *submit, GError **error);
GVariant *sundog_scores_pack(const SundogScores *scores);
bool sundog_scores_unpack(GVariant *payload, SundogScores *scores, GError **error);
GVariant *sundog_embed_pack(const SundogEmbed *embed);
bool sundog_embed_unpack(GVariant *payload, SundogEmbed *embed, GError **error);
GVariant *sundog_result_pack(const SundogResult *result);
bool sundog_result_unpack(GVariant *payload, SundogResult *result, GError **error);
GVariant *sundog_wire_vocabulary_pack(const SundogWireVocabulary *vocabulary);
bool sundog_wire_vocabulary_unpack(GVariant *payload, SundogWireVocabulary *vocabulary,
                                   GError **error);
GVariant *sundog_ready_pack(const SundogReady *ready);
bool sundog_ready_unpack(GVariant *payload, SundogReady *ready, GError **error);
GVariant *sundog_fault_pack(const SundogFault *fault);
bool sundog_fault_unpack(GVariant *payload, SundogFault *fault, GError **error);
GVariant *sundog_finish_pack(const SundogFinish *finish);
bool sundog_finish_unpack(GVariant *payload, SundogFinish *finish, GError **error);
GVariant *sundog_statistics_pack(const SundogStatistics *statistics);
bool sundog_statistics_unpack(GVariant *payload, SundogStatistics *statistics, GError **error);
const char *sundog_finish_reason_text(SundogFinishReason reason);
