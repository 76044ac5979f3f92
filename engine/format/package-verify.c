/*
 * Compares every segment of every member with the manifest's hashes. Segments are handed to a thread
 * pool in the order they lie on disk; the calling thread only waits, reports progress and looks for
 * cancellation. Files are read rather than mapped: one that shrinks meanwhile is then an error and
 * not a signal.
 */

#include "engine/format/package.h"

#include "engine/format/error.h"
#include "engine/format/package-folder.h"
#include "engine/format/package-private.h"
#include "engine/format/segment-hash.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES (256 * 1024)
#define PROGRESS_US (50 * 1000)

typedef struct {
    const SundogMember *member;
    size_t segment;
} Task;

typedef struct {
    const SundogPackage *package;
    GCancellable *cancellable;
    GMutex mutex;
    GCond done;
    /* Under the mutex: */
    size_t n_tasks_left;
    uint64_t n_bytes_done;
    GHashTable *problems; /* member -> GString, what is wrong with it */
} Verification;

static void
note_problem(Verification *verification, const Task *task, const char *problem)
{
    GString *text = g_hash_table_lookup(verification->problems, task->member);
    if (text == NULL) {
        text = g_string_new(NULL);
        g_hash_table_insert(verification->problems, (gpointer)task->member, text);
    }
    g_string_append_printf(text, "%s segment %zu %s", text->len > 0 ? "," : "", task->segment,
                           problem);
}

static void
finish_task(Verification *verification, const Task *task, const char *problem)
{
    g_mutex_lock(&verification->mutex);
    if (problem != NULL)
        note_problem(verification, task, problem);
    verification->n_bytes_done += sundog_member_get_segment_bytes(task->member, task->segment);
    if (--verification->n_tasks_left == 0)
        g_cond_signal(&verification->done);
    g_mutex_unlock(&verification->mutex);
}

/* Appends one segment of an open member; false where it cannot be read whole. */
static bool
hash_segment(int fd, const Task *task, SundogSegmentHash *hash)
{
    g_autofree uint8_t *chunk = g_malloc(CHUNK_BYTES);
    uint64_t offset = task->segment * task->member->segment_bytes;
    uint64_t end = offset + sundog_member_get_segment_bytes(task->member, task->segment);
    while (offset < end) {
        ssize_t n = pread(fd, chunk, (size_t)MIN(CHUNK_BYTES, end - offset), (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        sundog_segment_hash_append(hash, chunk, (size_t)n);
        offset += (uint64_t)n;
    }
    sundog_segment_hash_finish(hash);
    return true;
}

static const char *
find_problem(const Verification *verification, const Task *task)
{
    const SundogMember *member = task->member;
    uint64_t n_bytes;
    if (g_cancellable_is_cancelled(verification->cancellable))
        return NULL;
    int fd = sundog_package_open_file(verification->package->root, member->path, &n_bytes, NULL);
    if (fd < 0)
        return "cannot be opened";
    SundogSegmentHash hash;
    sundog_segment_hash_init(&hash, member->segment_bytes);
    bool is_read = hash_segment(fd, task, &hash);
    close(fd);
    const uint8_t *expected = member->hashes + task->segment * SUNDOG_HASH_BYTES;
    bool is_same = is_read && memcmp(hash.hashes->data, expected, SUNDOG_HASH_BYTES) == 0;
    sundog_segment_hash_clear(&hash);
    return !is_read ? "cannot be read" : !is_same ? "has another hash" : NULL;
}

static void
run_task(gpointer data, gpointer user_data)
{
    Task *task = data;
    Verification *verification = user_data;
    finish_task(verification, task, find_problem(verification, task));
    g_free(task);
}

static void
push_tasks(Verification *verification, GThreadPool *pool)
{
    GPtrArray *members = verification->package->manifest->members;
    for (guint i = 0; i < members->len; i++) {
        const SundogMember *member = members->pdata[i];
        for (size_t segment = 0; segment < member->n_segments; segment++) {
            Task *task = g_new(Task, 1);
            *task = (Task){member, segment};
            g_mutex_lock(&verification->mutex);
            verification->n_tasks_left++;
            g_mutex_unlock(&verification->mutex);
            g_thread_pool_push(pool, task, NULL);
        }
    }
}

static void
wait_for_tasks(Verification *verification, void (*progress)(double fraction, void *data),
               void *data)
{
    uint64_t total = MAX(verification->package->manifest->total_bytes, 1);
    g_mutex_lock(&verification->mutex);
    while (verification->n_tasks_left > 0) {
        g_cond_wait_until(&verification->done, &verification->mutex,
                          g_get_monotonic_time() + PROGRESS_US);
        double fraction = (double)verification->n_bytes_done / (double)total;
        g_mutex_unlock(&verification->mutex);
        if (progress != NULL)
            progress(fraction, data);
        g_mutex_lock(&verification->mutex);
    }
    g_mutex_unlock(&verification->mutex);
}

/* All problems in the manifest's order, so that the text does not depend on the threads. */
static bool
report(const Verification *verification, GError **error)
{
    GPtrArray *members = verification->package->manifest->members;
    if (g_cancellable_set_error_if_cancelled(verification->cancellable, error))
        return false;
    if (g_hash_table_size(verification->problems) == 0)
        return true;
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < members->len; i++) {
        const SundogMember *member = members->pdata[i];
        const GString *problem = g_hash_table_lookup(verification->problems, member);
        if (problem != NULL)
            g_string_append_printf(text, "\n%s:%s", member->path, problem->str);
    }
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "%s is damaged: install or prepare it again%s", verification->package->path,
                text->str);
    return false;
}

static void
free_string(gpointer data)
{
    g_string_free(data, TRUE);
}

bool
sundog_package_verify(const SundogPackage *package, unsigned n_threads,
                      void (*progress)(double fraction, void *data), void *data,
                      GCancellable *cancellable, GError **error)
{
    g_return_val_if_fail(package != NULL && n_threads > 0, false);
    Verification verification = {.package = package, .cancellable = cancellable};
    g_mutex_init(&verification.mutex);
    g_cond_init(&verification.done);
    verification.problems = g_hash_table_new_full(NULL, NULL, NULL, free_string);

    GThreadPool *pool = g_thread_pool_new(run_task, &verification, (gint)n_threads, FALSE, NULL);
    push_tasks(&verification, pool);
    wait_for_tasks(&verification, progress, data);
    g_thread_pool_free(pool, FALSE, TRUE);
    bool good = report(&verification, error);

    g_hash_table_unref(verification.problems);
    g_cond_clear(&verification.done);
    g_mutex_clear(&verification.mutex);
    return good;
}
