/* The loop at the heart of the engine's process. */

#include "engine/schedule/engine-loop.h"

/* After an answer the next question may come at once: chores wait until it has been quiet for so long. */
#define QUIET_US 500000
/* An engine that is told to end does chores for at most so long. */
#define LAST_CHORES_US 500000

/* Of scheduler and embedder one is there, the other is NULL. */
typedef struct {
    SundogScheduler *scheduler;
    SundogEmbedder *embedder;
    GByteArray *outbox;
    bool draining;
    bool quiet;
} Loop;

/* Takes the problem. */
static bool
refuse(Loop *loop, uint64_t id, GError *problem, GError **error)
{
    if (id == 0) { /* nobody can be told */
        g_propagate_error(error, problem);
        return false;
    }
    SundogFault fault = {id, SUNDOG_FAULT_BAD_REQUEST, problem->message};
    sundog_frame_append(loop->outbox, SUNDOG_MESSAGE_FAULT, sundog_fault_pack(&fault));
    g_error_free(problem);
    return true;
}

static bool
take_submit(Loop *loop, const SundogInboxItem *item, GError **error)
{
    SundogSubmit submit;
    GError *problem = NULL;
    if (sundog_submit_unpack(item->payload, &submit, &problem) && loop->scheduler) {
        sundog_scheduler_submit(loop->scheduler, &submit, item->arrived_us);
        return true;
    }
    if (!problem)
        problem = g_error_new_literal(SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_MALFORMED,
                                      "the core does not write text");
    return refuse(loop, submit.id, problem, error);
}

static bool
take_embed(Loop *loop, const SundogInboxItem *item, GError **error)
{
    SundogEmbed embed;
    GError *problem = NULL;
    if (sundog_embed_unpack(item->payload, &embed, &problem) && loop->embedder) {
        sundog_embedder_submit(loop->embedder, &embed, item->arrived_us);
        return true;
    }
    if (!problem)
        problem = g_error_new_literal(SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_MALFORMED,
                                      "the core gives neither vectors nor scores");
    return refuse(loop, embed.id, problem, error);
}

static void
take_cancel(Loop *loop, GVariant *payload)
{
    uint64_t id;
    g_variant_get(payload, "(t)", &id);
    if (loop->embedder)
        sundog_embedder_cancel(loop->embedder, id);
    else
        sundog_scheduler_cancel(loop->scheduler, id);
}

static bool
take_vocabulary(Loop *loop, GVariant *payload, GError **error)
{
    SundogWireVocabulary vocabulary;
    if (!sundog_wire_vocabulary_unpack(payload, &vocabulary, error))
        return false;
    if (loop->scheduler)
        sundog_scheduler_set_vocabulary(loop->scheduler, &vocabulary);
    return true;
}

static void
send_statistics(Loop *loop)
{
    SundogStatistics statistics;
    if (loop->embedder)
        sundog_embedder_get_statistics(loop->embedder, &statistics);
    else
        sundog_scheduler_get_statistics(loop->scheduler, &statistics);
    sundog_frame_append(loop->outbox, SUNDOG_MESSAGE_STATISTICS,
                        sundog_statistics_pack(&statistics));
}

static bool
take_item(Loop *loop, const SundogInboxItem *item, GError **error)
{
    switch (item->type) {
    case SUNDOG_MESSAGE_SUBMIT:
        return take_submit(loop, item, error);
    case SUNDOG_MESSAGE_EMBED:
        return take_embed(loop, item, error);
    case SUNDOG_MESSAGE_CANCEL:
        take_cancel(loop, item->payload);
        return true;
    case SUNDOG_MESSAGE_STATISTICS_ASKED:
        send_statistics(loop);
        return true;
    case SUNDOG_MESSAGE_VOCABULARY:
        return take_vocabulary(loop, item->payload, error);
    case SUNDOG_MESSAGE_SHUTDOWN:
        loop->draining = true;
        return true;
    default:
        g_set_error(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_MALFORMED,
                    "a message of type %u does not go to an engine", item->type);
        return false;
    }
}

static bool
take_items(Loop *loop, const GArray *items, GError **error)
{
    for (guint i = 0; i < items->len; i++)
        if (!take_item(loop, &g_array_index(items, SundogInboxItem, i), error))
            return false;
    return true;
}

static bool
write_outbox(Loop *loop, int fd, GError **error)
{
    bool written = sundog_frame_write_bytes(fd, loop->outbox->data, loop->outbox->len, error);
    sundog_frame_clear(loop->outbox);
    return written;
}

static bool
has_work(const Loop *loop)
{
    return loop->embedder ? sundog_embedder_has_work(loop->embedder)
                          : sundog_scheduler_has_work(loop->scheduler);
}

static bool
has_chores(const Loop *loop)
{
    return loop->scheduler && sundog_scheduler_has_chores(loop->scheduler);
}

static void
step(Loop *loop)
{
    if (loop->embedder)
        sundog_embedder_step(loop->embedder);
    else
        sundog_scheduler_step(loop->scheduler);
}

static int64_t
get_wait_us(const Loop *loop)
{
    if (has_work(loop) || loop->draining)
        return 0;
    if (!has_chores(loop))
        return -1;
    return loop->quiet ? 0 : QUIET_US;
}

static void
do_last_chores(Loop *loop)
{
    int64_t end_us = g_get_monotonic_time() + LAST_CHORES_US;
    while (has_chores(loop) && g_get_monotonic_time() < end_us)
        sundog_scheduler_do_chore(loop->scheduler);
}

bool
sundog_engine_loop(SundogScheduler *scheduler, SundogEmbedder *embedder, SundogInbox *inbox,
                   GByteArray *outbox, int fd, GError **error)
{
    Loop loop = {.scheduler = scheduler, .embedder = embedder, .outbox = outbox};
    g_autoptr(GArray) items = sundog_inbox_items_new();
    for (;;) {
        SundogInboxState state = sundog_inbox_take(inbox, items, get_wait_us(&loop));
        if (state == SUNDOG_INBOX_ENDED)
            return true;
        loop.draining |= state == SUNDOG_INBOX_DRAINING;
        if (!take_items(&loop, items, error))
            return false;
        bool worked = has_work(&loop);
        loop.quiet = !worked && items->len == 0;
        if (loop.quiet && has_chores(&loop))
            sundog_scheduler_do_chore(scheduler);
        step(&loop);
        if (worked && !has_work(&loop))
            send_statistics(&loop); /* what is asked for while nothing runs is then known already */
        if (!write_outbox(&loop, fd, error))
            return false;
        if (loop.draining && items->len == 0 && !has_work(&loop)) {
            do_last_chores(&loop);
            return true;
        }
    }
}
