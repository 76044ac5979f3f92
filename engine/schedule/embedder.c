/* Whole texts through steps. */

#include "engine/schedule/embedder.h"

#include "kernels/contract/paged-cache.h"

#include <math.h>
#include <string.h>

/* Tokens of a step of several texts: more make it last longer without making it faster a token. */
#define STEP_TOKENS 512
/* Texts that may wait. */
#define MAX_QUEUED 16384

typedef struct {
    uint64_t id;
    uint32_t *tokens; /* [n_tokens] */
    uint32_t n_tokens;
    uint32_t n_first; /* tokens of type 0; the rest are of type 1 */
    int64_t arrived_us;
} Text;

struct SundogEmbedder {
    const SundogStepRunner *runner;
    uint32_t context_length;
    GByteArray *outbox;
    GHashTable *texts; /* id -> Text, owned: all that wait */
    GQueue waiting;    /* of Text, in order of arrival */
    SundogStepSize size;
    Text **step; /* [size.n_sequences] those of the step */
    SundogStatistics statistics;
};

static void
text_free(gpointer data)
{
    Text *text = data;
    g_free(text->tokens);
    g_free(text);
}

SundogEmbedder *
sundog_embedder_new(const SundogStepRunner *runner, uint32_t context_length, GByteArray *outbox)
{
    g_return_val_if_fail(runner->n_outputs > 0, NULL);
    SundogEmbedder *embedder = g_new0(SundogEmbedder, 1);
    embedder->runner = runner;
    embedder->context_length = MIN(context_length, runner->max.n_tokens);
    embedder->outbox = outbox;
    embedder->texts = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, text_free);
    g_queue_init(&embedder->waiting);
    embedder->step = g_new0(Text *, runner->max.n_sequences);
    return embedder;
}

void
sundog_embedder_free(SundogEmbedder *embedder)
{
    if (embedder) {
        g_queue_clear(&embedder->waiting);
        g_hash_table_unref(embedder->texts);
        g_free(embedder->step);
        g_free(embedder);
    }
}

uint32_t
sundog_embedder_get_context_length(const SundogEmbedder *embedder)
{
    return embedder->context_length;
}

static void
send_fault(SundogEmbedder *embedder, uint64_t id, SundogFaultCode code, const char *text)
{
    const SundogFault fault = {id, code, text};
    sundog_frame_append(embedder->outbox, SUNDOG_MESSAGE_FAULT, sundog_fault_pack(&fault));
}

static void
send_finish(SundogEmbedder *embedder, const Text *text, SundogFinishReason reason,
            int64_t started_us)
{
    int64_t now_us = g_get_monotonic_time();
    const SundogFinish finish = {.id = text->id,
                                 .reason = reason,
                                 .n_prompt = text->n_tokens,
                                 .queue_us = (uint64_t)(started_us - text->arrived_us),
                                 .prefill_us = (uint64_t)(now_us - started_us),
                                 .step = embedder->statistics.n_steps};
    sundog_frame_append(embedder->outbox, SUNDOG_MESSAGE_FINISH, sundog_finish_pack(&finish));
}

/* The fault of a text that cannot be answered, or NULL. Owned by the caller. */
static char *
find_fault(const SundogEmbedder *embedder, const SundogEmbed *embed, SundogFaultCode *code)
{
    *code = SUNDOG_FAULT_BAD_REQUEST;
    for (uint32_t i = 0; i < embed->n_tokens; i++)
        if (embed->tokens[i] >= embedder->runner->n_vocabulary)
            return g_strdup_printf("token %u is not below the vocabulary's %u", embed->tokens[i],
                                   embedder->runner->n_vocabulary);
    if (embed->n_tokens > embedder->context_length) {
        *code = SUNDOG_FAULT_CONTEXT_LENGTH;
        return g_strdup_printf("the text has %u tokens and the core takes %u at once",
                               embed->n_tokens, embedder->context_length);
    }
    *code = SUNDOG_FAULT_INTERNAL;
    return g_hash_table_size(embedder->texts) >= MAX_QUEUED
               ? g_strdup_printf("%u texts wait already", MAX_QUEUED)
               : NULL;
}

void
sundog_embedder_submit(SundogEmbedder *embedder, const SundogEmbed *embed, int64_t arrived_us)
{
    SundogFaultCode code;
    if (g_hash_table_contains(embedder->texts, &embed->id)) {
        g_printerr("sundog-engine: a second text with the id %" G_GUINT64_FORMAT " is ignored\n",
                   embed->id);
        return;
    }
    g_autofree char *fault = find_fault(embedder, embed, &code);
    if (fault) {
        send_fault(embedder, embed->id, code, fault);
        return;
    }
    Text *text = g_new0(Text, 1);
    *text = (Text){.id = embed->id,
                   .tokens = g_memdup2(embed->tokens, embed->n_tokens * sizeof *embed->tokens),
                   .n_tokens = embed->n_tokens,
                   .n_first = embed->n_first,
                   .arrived_us = arrived_us};
    g_hash_table_insert(embedder->texts, &text->id, text);
    g_queue_push_tail(&embedder->waiting, text);
}

void
sundog_embedder_cancel(SundogEmbedder *embedder, uint64_t id)
{
    Text *text = g_hash_table_lookup(embedder->texts, &id);
    if (!text)
        return;
    send_finish(embedder, text, SUNDOG_FINISH_CANCELLED, g_get_monotonic_time());
    embedder->statistics.n_cancelled++;
    g_queue_remove(&embedder->waiting, text);
    g_hash_table_remove(embedder->texts, &id);
}

bool
sundog_embedder_has_work(const SundogEmbedder *embedder)
{
    return g_hash_table_size(embedder->texts) > 0;
}

/* The steps of a step */

static uint32_t
count_pages(const Text *text)
{
    return (text->n_tokens + SUNDOG_PAGE_TOKENS - 1) / SUNDOG_PAGE_TOKENS;
}

static void
fill_rows(const SundogStepRunner *runner, const Text *text, uint32_t index, uint32_t row)
{
    for (uint32_t i = 0; i < text->n_tokens; i++) {
        runner->tokens[row + i] = (int32_t)text->tokens[i];
        runner->positions[row + i] = (int32_t)i;
        runner->token_sequence[row + i] = (int32_t)index;
        if (runner->token_types)
            runner->token_types[row + i] = runner->n_token_types > 1 && i >= text->n_first;
    }
}

static void
add_text(SundogEmbedder *embedder, Text *text)
{
    const SundogStepRunner *runner = embedder->runner;
    SundogStepSize *size = &embedder->size;
    uint32_t index = size->n_sequences++;
    embedder->step[index] = text;
    fill_rows(runner, text, index, size->n_tokens);
    runner->first_row[index] = (int32_t)size->n_tokens;
    runner->start_position[index] = 0;
    size->n_tokens += text->n_tokens;
    runner->first_row[index + 1] = (int32_t)size->n_tokens;
    size->sequence_pages = MAX(size->sequence_pages, count_pages(text));
}

/* The oldest, and those after it while the step stays short. */
static void
pack(SundogEmbedder *embedder)
{
    embedder->size = (SundogStepSize){.sequence_pages = 1, .history = 1, .mask = 1, .bias = 1};
    while (embedder->size.n_sequences < embedder->runner->max.n_sequences) {
        Text *text = g_queue_peek_head(&embedder->waiting);
        bool fits = text && (embedder->size.n_sequences == 0 ||
                             embedder->size.n_tokens + text->n_tokens <=
                                 MIN((uint32_t)STEP_TOKENS, embedder->runner->max.n_tokens));
        if (!fits)
            return;
        g_queue_pop_head(&embedder->waiting);
        add_text(embedder, text);
        sundog_frame_append(embedder->outbox, SUNDOG_MESSAGE_ADMITTED,
                            g_variant_new("(t)", text->id));
    }
}

/* Pages of a step are numbered from 1 on. */
static void
fill_pages(SundogEmbedder *embedder)
{
    const SundogStepSize *size = &embedder->size;
    int32_t next = 0;
    for (uint32_t i = 0; i < size->n_sequences; i++) {
        int32_t *pages = embedder->runner->page_table + (size_t)i * size->sequence_pages;
        uint32_t n_pages = count_pages(embedder->step[i]);
        for (uint32_t p = 0; p < size->sequence_pages; p++)
            pages[p] = p < n_pages ? ++next : SUNDOG_NULL_PAGE;
    }
}

static bool
is_finite(const float *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static void
take_result(SundogEmbedder *embedder, uint32_t index, int64_t started_us)
{
    const Text *text = embedder->step[index];
    uint32_t n = embedder->runner->n_outputs;
    const SundogResult result = {
        .id = text->id, .values = embedder->runner->result + (size_t)index * n, .n_values = n};
    if (!is_finite(result.values, n)) {
        send_fault(embedder, text->id, SUNDOG_FAULT_NOT_FINITE,
                   "the model's output for this text is not a number");
        return;
    }
    sundog_frame_append(embedder->outbox, SUNDOG_MESSAGE_RESULT, sundog_result_pack(&result));
    send_finish(embedder, text, SUNDOG_FINISH_STOP, started_us);
    embedder->statistics.n_finished++;
    embedder->statistics.n_prompt_tokens += text->n_tokens;
}

void
sundog_embedder_step(SundogEmbedder *embedder)
{
    int64_t started_us = g_get_monotonic_time();
    g_autoptr(GError) error = NULL;
    pack(embedder);
    if (embedder->size.n_sequences == 0)
        return;
    fill_pages(embedder);
    embedder->statistics.n_steps++;
    bool ran = embedder->runner->forward(embedder->runner->data, &embedder->size, &error);
    for (uint32_t i = 0; i < embedder->size.n_sequences; i++) {
        if (ran)
            take_result(embedder, i, started_us);
        else
            send_fault(embedder, embedder->step[i]->id, SUNDOG_FAULT_INTERNAL,
                       error ? error->message : "the step could not run");
        g_hash_table_remove(embedder->texts, &embedder->step[i]->id);
    }
    embedder->statistics.step_us += (uint64_t)(g_get_monotonic_time() - started_us);
}

void
sundog_embedder_get_statistics(const SundogEmbedder *embedder, SundogStatistics *statistics)
{
    *statistics = embedder->statistics;
    statistics->n_queued = g_hash_table_size(embedder->texts);
}
