#pragma once

/*
 * What the scheduler says, as frames in the bytes that its caller writes. The tokens of a step are
 * collected and become one frame. All memory but the bytes' own is taken in new(). One thread.
 */

#include "engine/schedule/request.h"

typedef struct SundogOutbox SundogOutbox;

/* Borrows the bytes. A step has at most max_rows tokens. */
SundogOutbox *sundog_outbox_new(GByteArray *bytes, uint32_t max_rows);
void sundog_outbox_free(SundogOutbox *outbox);

void sundog_outbox_admitted(SundogOutbox *outbox, const SundogRequest *request);
/* How far its prompt is. */
void sundog_outbox_prefill(SundogOutbox *outbox, const SundogRequest *request);
/* The token that comes next in the request; call before it is appended. */
void sundog_outbox_token(SundogOutbox *outbox, const SundogRequest *request, uint32_t token);
/* The scores of the request's tokens from `position` on: rows [n_rows, SUNDOG_MAX_SCORES] of a step. */
void sundog_outbox_scores(SundogOutbox *outbox, const SundogRequest *request, uint32_t position,
                          const SundogScore *rows, uint32_t n_rows);
/* One frame of the tokens since the last; none where there was none. */
void sundog_outbox_end_step(SundogOutbox *outbox, uint64_t step);
void sundog_outbox_finish(SundogOutbox *outbox, const SundogFinish *finish);
void sundog_outbox_fault(SundogOutbox *outbox, uint64_t id, SundogFaultCode code, const char *text);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogOutbox, sundog_outbox_free)
