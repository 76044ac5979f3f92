#pragma once

/*
 * What an engine said, request by request. Taking a frame checks what must always hold: ADMITTED comes
 * first, indices of tokens go up by one, nothing comes after the one FINISH or FAULT.
 */

#include "engine/wire/messages.h"

typedef struct {
    uint64_t id;
    uint32_t n_resumed; /* index of the first token to come */
    bool admitted;
    uint32_t n_prefilled;
    uint32_t n_cached;
    GArray *tokens; /* of uint32_t, those sent */
    GArray *scores; /* of SundogTokenScore, n_scores a token */
    uint32_t n_scores;
    uint32_t first_scored; /* position of the first token with scores, or 0 */
    bool ended;
    bool faulted;
    SundogFinish finish;
    SundogFaultCode fault;
} Answer;

typedef struct {
    GHashTable *table; /* id -> Answer */
    uint32_t n_ended;
    bool ready_seen;
    SundogReady ready;
    SundogStatistics statistics;
    uint32_t n_statistics;
    char *load_fault; /* text of a FAULT of the engine itself */
} Answers;

Answers *answers_new(void);
void answers_free(Answers *answers);

/* Call before the request is sent. */
Answer *answers_expect(Answers *answers, uint64_t id, uint32_t n_resumed);
Answer *answers_get(Answers *answers, uint64_t id);
void answers_take(Answers *answers, uint32_t type, GVariant *payload);
/* All frames in bytes; leaves it empty. */
void answers_take_bytes(Answers *answers, GByteArray *bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Answers, answers_free)
