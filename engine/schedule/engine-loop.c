/* The loop at the heart of the engine's process. */

#include "engine/schedule/engine-loop.h"

/* After an answer the next question may come at once: chores wait until it has been quiet for so long. */
#define QUIET_US 500000
/* An engine that is told to end does chores for at most so long. */
#define LAST_CHORES_US 500000

typedef struct {
    SundogScheduler *scheduler;
    GByteArray *outbox;
    bool draining;
    bool quiet;
} Loop;

static bool
take_submit(Loop *loop, const SundogInboxItem *item, GError **error)
{
    SundogSubmit submit;
    g_autoptr(GError) problem = NULL;
    if (sundog_submit_unpack(item->payload, &submit, &problem)) {
        sundog_scheduler_submit(loop->scheduler, &submit, item->arrived_us);
        return true;
    }
    if (submit.id == 0) { /* nobody can be told */
        g_propagate_error(error, g_steal_pointer(&problem));
        return false;
    }
    SundogFault fault = {submit.id, SUNDOG_FAULT_BAD_REQUEST, problem->message};
    sundog_frame_append(loop->outbox, SUNDOG_MESSAGE_FAULT, sundog_fault_pack(&fault));
    return true;
}

static void
take_cancel(Loop *loop, GVariant *payload)
{
    uint64_t id;
    g_variant_get(payload, "(t)", &id);
    sundog_scheduler_cancel(loop->scheduler, id);
}

static bool
take_vocabulary(Loop *loop, GVariant *payload, GError **error)
{
    SundogWireVocabulary vocabulary;
    if (!sundog_wire_vocabulary_unpack(payload, &vocabulary, error))
        return false;
    sundog_scheduler_set_vocabulary(loop->scheduler, &vocabulary);
    return true;
}

static void
send_statistics(Loop *loop)
{
    SundogStatistics statistics;
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

static int64_t
get_wait_us(const Loop *loop)
{
    if (sundog_scheduler_has_work(loop->scheduler) || loop->draining)
        return 0;
    if (!sundog_scheduler_has_chores(loop->scheduler))
        return -1;
    return loop->quiet ? 0 : QUIET_US;
}

static void
do_last_chores(Loop *loop)
{
    int64_t end_us = g_get_monotonic_time() + LAST_CHORES_US;
    while (sundog_scheduler_has_chores(loop->scheduler) && g_get_monotonic_time() < end_us)
        sundog_scheduler_do_chore(loop->scheduler);
}

bool
sundog_engine_loop(SundogScheduler *scheduler, SundogInbox *inbox, GByteArray *outbox, int fd,
                   GError **error)
{
    Loop loop = {.scheduler = scheduler, .outbox = outbox};
    g_autoptr(GArray) items = sundog_inbox_items_new();
    for (;;) {
        SundogInboxState state = sundog_inbox_take(inbox, items, get_wait_us(&loop));
        if (state == SUNDOG_INBOX_ENDED)
            return true;
        loop.draining |= state == SUNDOG_INBOX_DRAINING;
        if (!take_items(&loop, items, error))
            return false;
        bool worked = sundog_scheduler_has_work(scheduler);
        loop.quiet = !worked && items->len == 0;
        if (loop.quiet && sundog_scheduler_has_chores(scheduler))
            sundog_scheduler_do_chore(scheduler);
        sundog_scheduler_step(scheduler);
        if (worked && !sundog_scheduler_has_work(scheduler))
            send_statistics(&loop); /* what is asked for while nothing runs is then known already */
        if (!write_outbox(&loop, fd, error))
            return false;
        if (loop.draining && items->len == 0 && !sundog_scheduler_has_work(scheduler)) {
            do_last_chores(&loop);
            return true;
        }
    }
}
