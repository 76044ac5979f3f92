/*
 * Pulls: take the model's lock, fetch (or copy) and check each file in turn, then write model.json.
 * The steps are next_file, fetch or copy, check_file, and at the end install.
 */

#include "engine/library/pull.h"

#include "engine/format/error.h"
#include "engine/library/folder.h"
#include "engine/library/model-folder.h"
#include "engine/library/partial.h"
#include "engine/library/pull-lock.h"
#include "engine/library/pull-source.h"
#include "engine/library/transfer.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_STALL_SECONDS 20
#define DEFAULT_MAX_TRIES 8
#define DEFAULT_FIRST_BACKOFF_MS 500
#define COPY_BYTES (4u << 20)
/* What shows the kind of a file: GGUF's magic, or the begin of a safetensors header behind its length. */
#define HEAD_BYTES 9

typedef struct {
    SundogPullOptions options;
    SundogPullSource source;
    char *from;
    char *token;
    char *folder;
    guint index; /* of the file at hand */
    uint64_t n_bytes_before;
    uint64_t n_bytes_total;
    SundogPullLock *lock;
    SundogPartial *partial;
    SoupSession *session;
} Pull;

static void next_file(GTask *task);

static void
pull_free(void *data)
{
    Pull *pull = data;
    g_clear_object(&pull->session);
    sundog_partial_free(pull->partial);
    sundog_pull_lock_release(pull->lock);
    sundog_pull_source_clear(&pull->source);
    g_free(pull->from);
    g_free(pull->token);
    g_free(pull->folder);
    g_free(pull);
}

#define fail(error, code, ...) sundog_error_set(error, SUNDOG_LIBRARY_ERROR, code, __VA_ARGS__)

static SundogPullFile *
file_at_hand(Pull *pull)
{
    return &g_array_index(pull->source.files, SundogPullFile, pull->index);
}

/* Whole progress from one file's; called on the pull's context. */
static void
on_file_progress(const SundogPullProgress *of_file, void *data)
{
    Pull *pull = data;
    SundogPullProgress progress = *of_file;
    progress.n_bytes_done += pull->n_bytes_before;
    progress.n_bytes_total = pull->n_bytes_total            ? pull->n_bytes_total
                             : pull->source.files->len == 1 ? of_file->n_bytes_total
                                                            : 0;
    if (pull->options.progress)
        pull->options.progress(&progress, pull->options.data);
}

static void
tell(Pull *pull, SundogPullPhase phase)
{
    SundogPullProgress progress = {
        .phase = phase,
        .n_bytes_done = pull->partial ? sundog_partial_get_bytes(pull->partial) : 0,
        .n_bytes_total = pull->index < pull->source.files->len ? file_at_hand(pull)->n_bytes : 0};
    on_file_progress(&progress, pull);
}

/* Takes the task's last reference; the lock goes before anyone hears of the end. */
static void
end_pull(GTask *task, GError *error)
{
    Pull *pull = g_task_get_task_data(task);
    g_clear_pointer(&pull->partial, sundog_partial_free);
    g_clear_pointer(&pull->lock, sundog_pull_lock_release);
    if (error) {
        g_task_return_error(task, error);
    } else {
        tell(pull, SUNDOG_PULL_DONE);
        g_task_return_pointer(task, g_strdup(pull->source.name), g_free);
    }
    g_object_unref(task);
}

/* What the file at hand holds, read back from the disk. */
typedef struct {
    char *path;
    char *sha256;
    uint64_t n_bytes;
    uint8_t head[HEAD_BYTES]; /* zeros behind a shorter file's end */
} Check;

static void
check_free(void *data)
{
    Check *check = data;
    g_free(check->path);
    g_free(check->sha256);
    g_free(check);
}

static void
check_in_thread(GTask *work, void *source, void *data, GCancellable *cancellable)
{
    Check *check = data;
    int fd = open(check->path, O_RDONLY | O_CLOEXEC);
    g_autofree uint8_t *buffer = g_malloc(COPY_BYTES);
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    ssize_t n = fd < 0 ? -1 : 0;
    while (fd >= 0 && !g_cancellable_is_cancelled(cancellable) &&
           (n = read(fd, buffer, COPY_BYTES)) > 0) {
        if (check->n_bytes == 0)
            memcpy(check->head, buffer, MIN((size_t)n, HEAD_BYTES));
        check->n_bytes += (uint64_t)n;
        g_checksum_update(checksum, buffer, n);
    }
    int reason = errno;
    if (fd >= 0)
        close(fd);
    check->sha256 = g_strdup(g_checksum_get_string(checksum));
    if (g_task_return_error_if_cancelled(work))
        return;
    if (n < 0)
        g_task_return_new_error(work, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_IO,
                                "%s cannot be read: %s", check->path, g_strerror(reason));
    else
        g_task_return_boolean(work, true);
}

/* Whether a file begins as its name promises. */
static bool
looks_right(const char *name, const Check *check)
{
    if (g_str_has_suffix(name, ".gguf"))
        return memcmp(check->head, "GGUF", 4) == 0;
    if (g_str_has_suffix(name, ".json"))
        return check->head[0] == '{' || check->head[0] == '[' || g_ascii_isspace(check->head[0]);
    return !g_str_has_suffix(name, ".safetensors") || check->head[8] == '{';
}

static bool
accept_check(Pull *pull, const Check *check, GError **error)
{
    SundogPullFile *file = file_at_hand(pull);
    if (file->sha256 && strcmp(file->sha256, check->sha256) != 0)
        return fail(error, SUNDOG_LIBRARY_ERROR_MISMATCH,
                    "%s has the SHA-256 %s in place of %s: it was damaged on its way or is "
                    "another file; what came was removed",
                    file->name, check->sha256, file->sha256);
    if (!looks_right(file->name, check))
        return fail(error, SUNDOG_LIBRARY_ERROR_MISMATCH,
                    "%s does not begin as such a file does: the host sent something else, perhaps "
                    "a page to sign in; it was removed",
                    file->name);
    g_free(file->sha256);
    file->sha256 = g_strdup(check->sha256);
    return true;
}

/* Removes what was found wrong, fetched now or earlier. */
static void
discard(Pull *pull, const Check *check)
{
    if (pull->partial)
        sundog_partial_discard(pull->partial);
    else
        g_unlink(check->path);
}

static void
on_checked(GObject *source, GAsyncResult *result, void *data)
{
    GTask *task = data;
    Pull *pull = g_task_get_task_data(task);
    const Check *check = g_task_get_task_data(G_TASK(result));
    GError *error = NULL;
    bool checked = g_task_propagate_boolean(G_TASK(result), &error);
    if (checked && !accept_check(pull, check, &error)) {
        discard(pull, check);
        checked = false;
    }
    if (!checked || (pull->partial && !sundog_partial_finish(pull->partial, &error))) {
        end_pull(task, error);
        return;
    }
    file_at_hand(pull)->n_bytes = check->n_bytes;
    pull->n_bytes_before += check->n_bytes;
    g_clear_pointer(&pull->partial, sundog_partial_free);
    pull->index++;
    next_file(task);
}

/* Reads back the partial file, or one that stands under its own name since an earlier run. */
static void
start_check(GTask *task, const char *path)
{
    tell(g_task_get_task_data(task), SUNDOG_PULL_CHECKING);
    Check *check = g_new0(Check, 1);
    check->path = g_strdup(path);
    g_autoptr(GTask) work = g_task_new(NULL, g_task_get_cancellable(task), on_checked, task);
    g_task_set_task_data(work, check, check_free);
    g_task_run_in_thread(work, check_in_thread);
}

static void
check_file(GTask *task)
{
    Pull *pull = g_task_get_task_data(task);
    SundogPullFile *file = file_at_hand(pull);
    uint64_t n_bytes = sundog_partial_get_bytes(pull->partial);
    if (file->n_bytes && n_bytes != file->n_bytes) {
        GError *error = NULL;
        fail(&error, SUNDOG_LIBRARY_ERROR_MISMATCH,
             "%s has %" G_GUINT64_FORMAT " bytes in place of %" G_GUINT64_FORMAT, file->name,
             n_bytes, file->n_bytes);
        end_pull(task, error);
        return;
    }
    start_check(task, sundog_partial_get_path(pull->partial));
}

/* The host does not have an optional file: the model goes without. */
static void
leave_out(GTask *task)
{
    Pull *pull = g_task_get_task_data(task);
    sundog_partial_discard(pull->partial);
    g_clear_pointer(&pull->partial, sundog_partial_free);
    g_array_remove_index(pull->source.files, pull->index);
    next_file(task);
}

static void
on_fetched(GObject *source, GAsyncResult *result, void *data)
{
    GTask *task = data;
    GError *error = NULL;
    Pull *pull = g_task_get_task_data(task);
    if (sundog_transfer_finish(result, &error)) {
        check_file(task);
    } else if (file_at_hand(pull)->is_optional &&
               g_error_matches(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_ABSENT)) {
        g_error_free(error);
        leave_out(task);
    } else {
        end_pull(task, error);
    }
}

static void
fetch(GTask *task)
{
    Pull *pull = g_task_get_task_data(task);
    SundogPullFile *file = file_at_hand(pull);
    sundog_transfer_async(
        &(SundogTransferOptions){.session = pull->session,
                                 .url = file->url,
                                 .token = pull->token,
                                 .partial = pull->partial,
                                 .n_bytes = file->n_bytes,
                                 .is_hashed = file->sha256 != NULL,
                                 .stall_seconds = pull->options.stall_seconds,
                                 .max_tries = pull->options.max_tries,
                                 .first_backoff_ms = pull->options.first_backoff_ms,
                                 .progress = on_file_progress,
                                 .data = pull},
        g_task_get_cancellable(task), on_fetched, task);
}

static bool
copy_bytes(int fd, SundogPartial *partial, const char *from, GCancellable *cancellable,
           GError **error)
{
    g_autofree uint8_t *buffer = g_malloc(COPY_BYTES);
    ssize_t n;
    while ((n = read(fd, buffer, COPY_BYTES)) > 0)
        if (g_cancellable_set_error_if_cancelled(cancellable, error) ||
            !sundog_partial_append(partial, buffer, (size_t)n, error))
            return false;
    return n == 0 ||
           fail(error, SUNDOG_LIBRARY_ERROR_IO, "%s cannot be read: %s", from, g_strerror(errno));
}

/* Size before a byte is copied: a wrong file is told at once. */
static bool
check_source(const Pull *pull, int fd, uint64_t expected, GError **error)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return fail(error, SUNDOG_LIBRARY_ERROR_IO, "%s cannot be read: %s", pull->from,
                    g_strerror(errno));
    if (!S_ISREG(status.st_mode))
        return fail(error, SUNDOG_LIBRARY_ERROR_IO, "%s is no file", pull->from);
    uint64_t n_bytes = (uint64_t)status.st_size;
    if (expected && n_bytes != expected)
        return fail(error, SUNDOG_LIBRARY_ERROR_MISMATCH,
                    "%s has %" G_GUINT64_FORMAT " bytes, the catalogue says %" G_GUINT64_FORMAT
                    ": it is not the same file",
                    pull->from, n_bytes, expected);
    uint64_t free_bytes = sundog_partial_get_free_bytes(pull->partial);
    if (n_bytes > free_bytes)
        return fail(error, SUNDOG_LIBRARY_ERROR_NO_SPACE,
                    "The copy needs %" G_GUINT64_FORMAT " bytes, the disk has %" G_GUINT64_FORMAT
                    " free",
                    n_bytes, free_bytes);
    return true;
}

static void
copy_in_thread(GTask *work, void *source, void *data, GCancellable *cancellable)
{
    Pull *pull = data;
    GError *error = NULL;
    int fd = open(pull->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool done = check_source(pull, fd, file_at_hand(pull)->n_bytes, &error) &&
                sundog_partial_restart(pull->partial, NULL, file_at_hand(pull)->n_bytes, &error) &&
                copy_bytes(fd, pull->partial, pull->from, cancellable, &error) &&
                sundog_partial_sync(pull->partial, &error);
    if (fd >= 0)
        close(fd);
    if (done)
        g_task_return_boolean(work, true);
    else
        g_task_return_error(work, error);
}

static void
on_copied(GObject *source, GAsyncResult *result, void *data)
{
    GTask *task = data;
    Pull *pull = g_task_get_task_data(task);
    GError *error = NULL;
    if (g_task_propagate_boolean(G_TASK(result), &error)) {
        check_file(task);
        return;
    }
    /* A copy starts anew in any case, so its beginning is of no use. */
    sundog_partial_discard(pull->partial);
    end_pull(task, error);
}

static void
copy(GTask *task)
{
    Pull *pull = g_task_get_task_data(task);
    tell(pull, SUNDOG_PULL_TRANSFER);
    g_autoptr(GTask) work = g_task_new(NULL, g_task_get_cancellable(task), on_copied, task);
    g_task_set_task_data(work, pull, NULL);
    g_task_run_in_thread(work, copy_in_thread);
}

static void
set_member(JsonObject *info, JsonObject *entry, const char *key)
{
    if (entry && json_object_has_member(entry, key))
        json_object_set_member(info, key, json_object_dup_member(entry, key));
}

static JsonArray *
describe_files(const Pull *pull)
{
    JsonArray *files = json_array_new();
    for (guint i = 0; i < pull->source.files->len; i++) {
        const SundogPullFile *file = &g_array_index(pull->source.files, SundogPullFile, i);
        JsonObject *object = json_object_new();
        json_object_set_string_member(object, "name", file->name);
        json_object_set_int_member(object, "bytes", (gint64)file->n_bytes);
        json_object_set_string_member(object, "sha256", file->sha256);
        json_array_add_object_element(files, object);
    }
    return files;
}

static JsonObject *
describe(const Pull *pull)
{
    const SundogPullFile *first = &g_array_index(pull->source.files, SundogPullFile, 0);
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *fetched = g_date_time_format_iso8601(now);
    JsonObject *info = json_object_new();
    json_object_set_int_member(info, "version", 1);
    json_object_set_string_member(info, "name", pull->source.name);
    json_object_set_string_member(info, "title", pull->source.name);
    const char *const kept[] = {"title",        "licence",        "maker",   "family",
                                "n_parameters", "context_length", "sampling"};
    for (size_t i = 0; i < G_N_ELEMENTS(kept); i++)
        set_member(info, pull->source.entry, kept[i]);
    json_object_set_string_member(info, "source", first->url);
    json_object_set_string_member(info, "fetched", fetched);
    json_object_set_string_member(info, "file", sundog_pull_source_get_main_file(&pull->source));
    json_object_set_array_member(info, "files", describe_files(pull));
    return info;
}

static void
install(GTask *task)
{
    Pull *pull = g_task_get_task_data(task);
    GError *error = NULL;
    g_autoptr(JsonObject) info = describe(pull);
    if (sundog_model_folder_write(pull->folder, info, &error))
        sundog_folder_sync(sundog_paths_get_models());
    end_pull(task, error);
}

/* Where the file at hand stands since an earlier run that fetched it whole, though not the whole model;
 * NULL where it does not. */
static char *
dup_standing(Pull *pull)
{
    const SundogPullFile *file = file_at_hand(pull);
    g_autofree char *path = g_build_filename(pull->folder, file->name, NULL);
    GStatBuf status;
    bool stands = g_stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
                  (file->n_bytes == 0 || (uint64_t)status.st_size == file->n_bytes);
    return stands ? g_steal_pointer(&path) : NULL;
}

/* At the end of the list: more, where the index of a repository is here now, or the end of it all. */
static void
end_list(GTask *task)
{
    Pull *pull = g_task_get_task_data(task);
    GError *error = NULL;
    if (pull->source.base == NULL)
        install(task);
    else if (sundog_pull_source_add_rest(&pull->source, pull->folder, &error))
        next_file(task);
    else
        end_pull(task, error);
}

/* Beside the file that it becomes, which may lie in a folder of its own. */
static SundogPartial *
open_partial(const Pull *pull, const SundogPullFile *file, GError **error)
{
    g_autofree char *path = g_build_filename(pull->folder, file->name, NULL);
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    if (g_mkdir_with_parents(folder, 0700) == 0)
        return sundog_partial_open(folder, name, file->url, error);
    fail(error, errno == ENOSPC ? SUNDOG_LIBRARY_ERROR_NO_SPACE : SUNDOG_LIBRARY_ERROR_IO,
         "The folder %s cannot be made: %s", folder, g_strerror(errno));
    return NULL;
}

static void
next_file(GTask *task)
{
    Pull *pull = g_task_get_task_data(task);
    if (pull->index == pull->source.files->len) {
        end_list(task);
        return;
    }
    GError *error = NULL;
    SundogPullFile *file = file_at_hand(pull);
    g_autofree char *standing = dup_standing(pull);
    if (standing) {
        start_check(task, standing);
        return;
    }
    pull->partial = open_partial(pull, file, &error);
    if (!pull->partial)
        end_pull(task, error);
    else if (pull->from)
        copy(task);
    else
        fetch(task);
}

/* 0 where a size is not known. */
static uint64_t
count_total(const GArray *files)
{
    uint64_t n_bytes = 0;
    for (guint i = 0; i < files->len; i++) {
        const SundogPullFile *file = &g_array_index(files, SundogPullFile, i);
        if (file->n_bytes == 0)
            return 0;
        n_bytes += file->n_bytes;
    }
    return n_bytes;
}

static bool
resolve(Pull *pull, const SundogCatalogue *catalogue, GError **error)
{
    if (!sundog_pull_source_init(&pull->source, pull->options.source, pull->options.name, catalogue,
                                 error))
        return false;
    pull->n_bytes_total = count_total(pull->source.files);
    return !pull->from || pull->source.files->len == 1 ||
           fail(error, SUNDOG_LIBRARY_ERROR_INVALID,
                "%s has several files: one local file cannot stand in for it", pull->source.name);
}

static bool
prepare_folder(Pull *pull, GError **error)
{
    pull->lock = sundog_pull_lock_take(pull->source.name, error);
    if (!pull->lock)
        return false;
    pull->folder = g_build_filename(sundog_paths_get_models(), pull->source.name, NULL);
    return g_mkdir_with_parents(pull->folder, 0700) == 0 ||
           fail(error, errno == ENOSPC ? SUNDOG_LIBRARY_ERROR_NO_SPACE : SUNDOG_LIBRARY_ERROR_IO,
                "The folder %s cannot be made: %s", pull->folder, g_strerror(errno));
}

static Pull *
pull_new(const SundogPullOptions *options)
{
    Pull *pull = g_new0(Pull, 1);
    pull->options = *options;
    pull->from = g_strdup(options->from);
    pull->token = g_strdup(options->token);
    if (!pull->options.stall_seconds)
        pull->options.stall_seconds = DEFAULT_STALL_SECONDS;
    if (!pull->options.max_tries)
        pull->options.max_tries = DEFAULT_MAX_TRIES;
    if (!pull->options.first_backoff_ms)
        pull->options.first_backoff_ms = DEFAULT_FIRST_BACKOFF_MS;
    pull->session = soup_session_new_with_options("user-agent", "sundog/" SUNDOG_VERSION, NULL);
    soup_session_remove_feature_by_type(pull->session, SOUP_TYPE_CONTENT_DECODER);
    return pull;
}

void
sundog_pull_async(SundogLibrary *library, const SundogCatalogue *catalogue,
                  const SundogPullOptions *options, GCancellable *cancellable,
                  GAsyncReadyCallback callback, void *data)
{
    g_return_if_fail(library && options && options->source);
    GTask *task = g_task_new(NULL, cancellable, callback, data);
    Pull *pull = pull_new(options);
    g_task_set_task_data(task, pull, pull_free);
    GError *error = NULL;
    if (!resolve(pull, catalogue, &error) || !prepare_folder(pull, &error))
        end_pull(task, error);
    else if (sundog_model_folder_is_complete(pull->folder))
        end_pull(task, NULL);
    else
        next_file(task);
}

char *
sundog_pull_finish(SundogLibrary *library, GAsyncResult *result, GError **error)
{
    return g_task_propagate_pointer(G_TASK(result), error);
}
