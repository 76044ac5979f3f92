/* Who runs: in order of arrival, with pages for all that their next tokens need. */

#include "engine/schedule/scheduler-private.h"
#include <string.h>

static int
compare_arrival(gconstpointer a, gconstpointer b, gpointer data)
{
    const SundogRequest *first = a, *second = b;
    return first->arrival < second->arrival ? -1 : first->arrival > second->arrival;
}

static void
remove_running(SundogScheduler *scheduler, const SundogRequest *request)
{
    uint32_t i = 0;
    while (scheduler->running[i] != request) {
        i++;
        g_assert(i < scheduler->n_running);
    }
    memmove(&scheduler->running[i], &scheduler->running[i + 1],
            (scheduler->n_running - i - 1) * sizeof *scheduler->running);
    scheduler->n_running--;
}

static void
insert_running(SundogScheduler *scheduler, SundogRequest *request)
{
    uint32_t i = scheduler->n_running++;
    for (; i > 0 && scheduler->running[i - 1]->arrival > request->arrival; i--)
        scheduler->running[i] = scheduler->running[i - 1];
    scheduler->running[i] = request;
}

static bool
is_running(const SundogRequest *request)
{
    return request->state.n_pages > 0;
}

void
sundog_scheduler_end_request(SundogScheduler *scheduler, SundogRequest *request, SundogClose how)
{
    sundog_drafting_end(scheduler->drafting, request);
    sundog_step_batch_forget(scheduler->next, request);
    if (is_running(request)) {
        sundog_cache_close_sequence(scheduler->cache, &request->state, request->tokens, how);
        remove_running(scheduler, request);
    } else {
        g_queue_remove(&scheduler->waiting, request);
    }
    g_hash_table_remove(scheduler->requests, &request->id);
}

/* The youngest gives its pages up. What it computed stays in the tree as long as there is room. */
static SundogRequest *
preempt_youngest(SundogScheduler *scheduler)
{
    SundogRequest *request = scheduler->running[scheduler->n_running - 1];
    sundog_drafting_rest(scheduler->drafting, request);
    sundog_cache_close_sequence(scheduler->cache, &request->state, request->tokens,
                                SUNDOG_CLOSE_KEEP);
    remove_running(scheduler, request);
    g_queue_insert_sorted(&scheduler->waiting, request, compare_arrival, NULL);
    return request;
}

static bool
open_request(SundogScheduler *scheduler, SundogRequest *request)
{
    uint32_t n_reserve =
        MIN(request->n_tokens + scheduler->runner->page_tokens, scheduler->context_length);
    if (!sundog_cache_open_sequence(scheduler->cache, &request->state, request->tokens,
                                    sundog_request_get_n_reusable(request), n_reserve,
                                    request->keeps))
        return false;
    request->restores = scheduler->options.recorder && request->keeps;
    return true;
}

/* Whether it waits for the prompt of the one it follows. That one is older, so that none waits for ever. */
static bool
is_held(const SundogScheduler *scheduler, const SundogRequest *request)
{
    const SundogRequest *leader =
        request->follows ? g_hash_table_lookup(scheduler->requests, &request->follows) : NULL;
    return leader && leader->arrival < request->arrival && !leader->sampled &&
           leader->state.n_valid < leader->n_prompt;
}

void
sundog_scheduler_admit_waiting(SundogScheduler *scheduler)
{
    GList *link = scheduler->waiting.head;
    while (link && scheduler->n_running < scheduler->runner->max.n_sequences) {
        SundogRequest *request = link->data;
        GList *next = link->next;
        if (!is_held(scheduler, request)) {
            if (!open_request(scheduler, request))
                return;
            g_queue_delete_link(&scheduler->waiting, link);
            insert_running(scheduler, request);
        }
        link = next;
    }
}

void
sundog_scheduler_restore_prompts(SundogScheduler *scheduler, int64_t start_us)
{
    for (uint32_t i = 0; i < scheduler->n_running; i++) {
        SundogRequest *request = scheduler->running[i];
        uint32_t n_before = request->state.n_valid;
        while (request->restores &&
               sundog_scheduler_now_us(scheduler) - start_us < scheduler->options.gap_us / 2) {
            request->restores =
                sundog_cache_restore(scheduler->cache, &request->state, request->tokens,
                                     sundog_request_get_n_reusable(request));
        }
        scheduler->statistics.n_restored_tokens += request->state.n_valid - n_before;
    }
}

void
sundog_scheduler_make_room(SundogScheduler *scheduler)
{
    for (uint32_t i = 0; i < scheduler->n_running; i++) {
        SundogRequest *request = scheduler->running[i];
        while (!sundog_cache_reserve(scheduler->cache, &request->state, request->n_tokens))
            if (preempt_youngest(scheduler) == request)
                return;
    }
}
