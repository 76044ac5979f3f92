/* Requests waiting and running. */

#include "engine/server/request-queue.h"

#define SUSPECT_WEIGHT (2 * SUNDOG_DEATH_BY_FAULT)
#define GIVEN_UP_WEIGHT (3 * SUNDOG_DEATH_BY_FAULT)

struct SundogRequestQueue {
    GPtrArray *waiting;  /* SundogGeneration, in order */
    GHashTable *running; /* &generation->id -> SundogGeneration */
    uint64_t last_id;
    bool runs_suspect;
};

SundogRequestQueue *
sundog_request_queue_new(void)
{
    SundogRequestQueue *queue = g_new0(SundogRequestQueue, 1);
    GDestroyNotify unref = (GDestroyNotify)sundog_generation_unref;
    queue->waiting = g_ptr_array_new_with_free_func(unref);
    queue->running = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, unref);
    return queue;
}

void
sundog_request_queue_free(SundogRequestQueue *queue)
{
    if (!queue)
        return;
    g_ptr_array_unref(queue->waiting);
    g_hash_table_unref(queue->running);
    g_free(queue);
}

guint
sundog_request_queue_get_n_waiting(const SundogRequestQueue *queue)
{
    return queue->waiting->len;
}

guint
sundog_request_queue_get_n_running(const SundogRequestQueue *queue)
{
    return g_hash_table_size(queue->running);
}

int64_t
sundog_request_queue_get_oldest_us(const SundogRequestQueue *queue)
{
    const SundogGeneration *first = queue->waiting->len ? queue->waiting->pdata[0] : NULL;
    return first ? first->submitted_us : INT64_MAX;
}

void
sundog_request_queue_push(SundogRequestQueue *queue, SundogGeneration *generation)
{
    g_ptr_array_add(queue->waiting, sundog_generation_ref(generation));
}

static SundogGeneration *
first_suspect(SundogRequestQueue *queue)
{
    for (guint i = 0; i < queue->waiting->len; i++) {
        SundogGeneration *generation = queue->waiting->pdata[i];
        if (generation->death_weight >= SUSPECT_WEIGHT)
            return generation;
    }
    return NULL;
}

/* All that were in both deaths are suspects, and each is tried alone: the innocent ones end well, and
 * the guilty one is found without taking others along. */
SundogGeneration *
sundog_request_queue_peek(SundogRequestQueue *queue)
{
    guint n_running = g_hash_table_size(queue->running);
    if (queue->waiting->len == 0 || (queue->runs_suspect && n_running > 0))
        return NULL;
    SundogGeneration *suspect = first_suspect(queue);
    if (!suspect)
        return queue->waiting->pdata[0];
    return n_running == 0 ? suspect : NULL;
}

uint64_t
sundog_request_queue_start(SundogRequestQueue *queue, SundogGeneration *generation)
{
    generation->id = ++queue->last_id;
    queue->runs_suspect = generation->death_weight >= SUSPECT_WEIGHT;
    g_hash_table_insert(queue->running, &generation->id, sundog_generation_ref(generation));
    g_ptr_array_remove(queue->waiting, generation);
    return generation->id;
}

void
sundog_request_queue_remove(SundogRequestQueue *queue, SundogGeneration *generation)
{
    sundog_generation_ref(generation);
    if (g_hash_table_lookup(queue->running, &generation->id) == generation)
        g_hash_table_remove(queue->running, &generation->id);
    else
        g_ptr_array_remove(queue->waiting, generation);
    sundog_generation_unref(generation);
}

SundogGeneration *
sundog_request_queue_find(SundogRequestQueue *queue, uint64_t id)
{
    return g_hash_table_lookup(queue->running, &id);
}

SundogGeneration *
sundog_request_queue_find_name(SundogRequestQueue *queue, const char *name)
{
    g_autoptr(GPtrArray) all = sundog_request_queue_dup_all(queue);
    for (guint i = 0; i < all->len; i++) {
        SundogGeneration *generation = all->pdata[i];
        if (g_strcmp0(generation->name, name) == 0)
            return generation;
    }
    return NULL;
}

static int
compare_ids(gconstpointer a, gconstpointer b)
{
    const SundogGeneration *const *first = a, *const *second = b;
    return (*first)->id < (*second)->id ? -1 : 1;
}

static GPtrArray *
dup_running(SundogRequestQueue *queue)
{
    GPtrArray *running = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_generation_unref);
    GHashTableIter iter;
    void *generation;
    g_hash_table_iter_init(&iter, queue->running);
    while (g_hash_table_iter_next(&iter, NULL, &generation))
        g_ptr_array_add(running, sundog_generation_ref(generation));
    g_ptr_array_sort(running, compare_ids);
    return running;
}

GPtrArray *
sundog_request_queue_put_back(SundogRequestQueue *queue, SundogDeathWeight weight)
{
    GPtrArray *given_up = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_generation_unref);
    g_autoptr(GPtrArray) running = dup_running(queue);
    g_hash_table_remove_all(queue->running);
    queue->runs_suspect = false;
    guint n_back = 0;
    for (guint i = 0; i < running->len; i++) {
        SundogGeneration *generation = running->pdata[i];
        if (generation->was_in_step)
            generation->death_weight += weight;
        generation->was_in_step = false;
        generation->id = 0;
        sundog_generation_ref(generation);
        if (generation->death_weight >= GIVEN_UP_WEIGHT)
            g_ptr_array_add(given_up, generation);
        else
            g_ptr_array_insert(queue->waiting, (int)n_back++, generation);
    }
    return given_up;
}

GPtrArray *
sundog_request_queue_dup_all(SundogRequestQueue *queue)
{
    GPtrArray *all = dup_running(queue);
    for (guint i = 0; i < queue->waiting->len; i++)
        g_ptr_array_add(all, sundog_generation_ref(queue->waiting->pdata[i]));
    return all;
}
