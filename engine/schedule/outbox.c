/* Frames, appended. */

#include "engine/schedule/outbox.h"

/* A row of TOKENS as it stands in the payload. */
typedef struct {
    uint64_t id;
    uint32_t index;
    uint32_t token;
} TokenRow;
G_STATIC_ASSERT(sizeof(TokenRow) == 16);

struct SundogOutbox {
    GByteArray *bytes;
    TokenRow *rows; /* [max_rows] */
    uint32_t n_rows;
    uint32_t max_rows;
    SundogTokenScore *scores; /* [max_rows, SUNDOG_MAX_SCORES] */
};
G_STATIC_ASSERT(SUNDOG_WIRE_MAX_SCORES == SUNDOG_MAX_SCORES);

SundogOutbox *
sundog_outbox_new(GByteArray *bytes, uint32_t max_rows)
{
    SundogOutbox *outbox = g_new0(SundogOutbox, 1);
    outbox->bytes = bytes;
    outbox->rows = g_new0(TokenRow, max_rows);
    outbox->max_rows = max_rows;
    outbox->scores = g_new0(SundogTokenScore, (size_t)max_rows * SUNDOG_MAX_SCORES);
    return outbox;
}

void
sundog_outbox_free(SundogOutbox *outbox)
{
    if (outbox) {
        g_free(outbox->rows);
        g_free(outbox->scores);
        g_free(outbox);
    }
}

void
sundog_outbox_admitted(SundogOutbox *outbox, const SundogRequest *request)
{
    sundog_frame_append(outbox->bytes, SUNDOG_MESSAGE_ADMITTED, g_variant_new("(t)", request->id));
}

void
sundog_outbox_prefill(SundogOutbox *outbox, const SundogRequest *request)
{
    uint32_t n_done = MIN(request->state.n_valid, request->n_prompt);
    sundog_frame_append(
        outbox->bytes, SUNDOG_MESSAGE_PREFILL,
        g_variant_new("(tuuu)", request->id, n_done, request->n_prompt, request->n_cached));
}

void
sundog_outbox_token(SundogOutbox *outbox, const SundogRequest *request, uint32_t token)
{
    g_assert(outbox->n_rows < outbox->max_rows);
    outbox->rows[outbox->n_rows++] =
        (TokenRow){request->id, request->n_tokens - request->n_prompt, token};
}

void
sundog_outbox_scores(SundogOutbox *outbox, const SundogRequest *request, uint32_t position,
                     const SundogScore *rows, uint32_t n_rows)
{
    uint32_t n_each = request->n_scores;
    g_assert(n_rows <= outbox->max_rows && n_each <= SUNDOG_MAX_SCORES);
    for (uint32_t i = 0; i < n_rows * n_each; i++) {
        const SundogScore *score = &rows[i / n_each * SUNDOG_MAX_SCORES + i % n_each];
        outbox->scores[i].token = (uint32_t)score->token;
        outbox->scores[i].log_probability = (double)score->log_probability;
    }
    const SundogScores scores = {request->id, position, n_each, outbox->scores, n_rows};
    sundog_frame_append(outbox->bytes, SUNDOG_MESSAGE_SCORES, sundog_scores_pack(&scores));
}

void
sundog_outbox_end_step(SundogOutbox *outbox, uint64_t step)
{
    if (outbox->n_rows == 0)
        return;
    GVariant *rows = g_variant_new_fixed_array(G_VARIANT_TYPE("(tuu)"), outbox->rows,
                                               outbox->n_rows, sizeof *outbox->rows);
    sundog_frame_append(outbox->bytes, SUNDOG_MESSAGE_TOKENS,
                        g_variant_new("(t@a(tuu))", step, rows));
    outbox->n_rows = 0;
}

void
sundog_outbox_finish(SundogOutbox *outbox, const SundogFinish *finish)
{
    sundog_frame_append(outbox->bytes, SUNDOG_MESSAGE_FINISH, sundog_finish_pack(finish));
}

void
sundog_outbox_fault(SundogOutbox *outbox, uint64_t id, SundogFaultCode code, const char *text)
{
    SundogFault fault = {.id = id, .code = code, .text = text};
    sundog_frame_append(outbox->bytes, SUNDOG_MESSAGE_FAULT, sundog_fault_pack(&fault));
}
