/* Files named by hash; their times of modification order them for eviction. */

#include "engine/cache/record-store.h"

#include "engine/format/error.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

/* Of the budget, after eviction: so that not each record evicts one. */
#define KEPT_SHARE 0.9
/* A deeper record of the same moment counts as so much older. */
#define DEPTH_NS 1000000
/* Nobody writes a record for so long: its writer died. */
#define ABANDONED_S 3600
#define PART ".part-"

struct SundogRecordStore {
    char *folder;
    uint64_t max_bytes;
    uint64_t n_bytes; /* as last counted, and what was written here since */
};

typedef struct {
    char *path;
    struct timespec used;
    uint64_t n_bytes;
} RecordFile;

static void
clear_record_file(gpointer data)
{
    g_free(((RecordFile *)data)->path);
}

static int
compare_used(gconstpointer a, gconstpointer b)
{
    const struct timespec *first = &((const RecordFile *)a)->used;
    const struct timespec *second = &((const RecordFile *)b)->used;
    if (first->tv_sec != second->tv_sec)
        return first->tv_sec < second->tv_sec ? -1 : 1;
    return first->tv_nsec < second->tv_nsec ? -1 : first->tv_nsec > second->tv_nsec;
}

static bool
is_abandoned(const struct stat *info)
{
    return info->st_mtime + ABANDONED_S < g_get_real_time() / G_USEC_PER_SEC;
}

/* All records, oldest use first; removes what dead writers left. Owned by the caller. */
static GArray *
list_files(const SundogRecordStore *store)
{
    GArray *files = g_array_new(FALSE, FALSE, sizeof(RecordFile));
    g_array_set_clear_func(files, clear_record_file);
    g_autoptr(GDir) folder = g_dir_open(store->folder, 0, NULL);
    const char *name;
    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        struct stat info;
        g_autofree char *path = g_build_filename(store->folder, name, NULL);
        if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode))
            continue;
        if (strstr(name, PART) != NULL) { /* not a record yet */
            if (is_abandoned(&info))
                g_unlink(path);
            continue;
        }
        RecordFile file = {g_steal_pointer(&path), info.st_mtim, (uint64_t)info.st_size};
        g_array_append_val(files, file);
    }
    g_array_sort(files, compare_used);
    return files;
}

static void
count_bytes(SundogRecordStore *store, const GArray *files)
{
    store->n_bytes = 0;
    for (guint i = 0; i < files->len; i++)
        store->n_bytes += g_array_index(files, RecordFile, i).n_bytes;
}

static void
evict(SundogRecordStore *store)
{
    g_autoptr(GArray) files = list_files(store);
    count_bytes(store, files);
    uint64_t kept = (uint64_t)(KEPT_SHARE * (double)store->max_bytes);
    for (guint i = 0; i < files->len && store->n_bytes > kept; i++) {
        const RecordFile *file = &g_array_index(files, RecordFile, i);
        g_unlink(file->path); /* or another engine did */
        store->n_bytes -= file->n_bytes;
    }
}

static char *
dup_path(const SundogRecordStore *store, const SundogPrefixRecord *record)
{
    uint8_t name[SUNDOG_RECORD_HASH_BYTES];
    char text[2 * SUNDOG_RECORD_HASH_BYTES + 1];
    sundog_prefix_record_get_name(record, name);
    for (size_t i = 0; i < sizeof name; i++)
        g_snprintf(text + 2 * i, 3, "%02x", name[i]);
    return g_build_filename(store->folder, text, NULL);
}

static void
set_used(const char *path, uint32_t depth)
{
    int64_t used_ns = g_get_real_time() * 1000 - (int64_t)depth * DEPTH_NS;
    struct timespec time = {used_ns / 1000000000, used_ns % 1000000000};
    struct timespec times[2] = {time, time};
    utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

SundogRecordStore *
sundog_record_store_open(const char *folder, uint64_t max_bytes, GError **error)
{
    if (g_mkdir_with_parents(folder, 0700) != 0) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO, "cannot make %s: %s",
                    folder, g_strerror(errno));
        return NULL;
    }
    SundogRecordStore *store = g_new0(SundogRecordStore, 1);
    store->folder = g_strdup(folder);
    store->max_bytes = max_bytes;
    g_autoptr(GArray) files = list_files(store);
    count_bytes(store, files);
    return store;
}

void
sundog_record_store_close(SundogRecordStore *store)
{
    if (store != NULL) {
        g_free(store->folder);
        g_free(store);
    }
}

bool
sundog_record_store_save(SundogRecordStore *store, const SundogPrefixRecord *record,
                         const void *state, uint32_t depth, GError **error)
{
    g_autofree char *path = dup_path(store, record);
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        if (!sundog_prefix_record_write(record, state, path, error))
            return false;
        store->n_bytes += record->n_bytes;
    }
    set_used(path, depth);
    if (store->n_bytes > store->max_bytes)
        evict(store);
    return true;
}

bool
sundog_record_store_has(const SundogRecordStore *store, const SundogPrefixRecord *record)
{
    g_autofree char *path = dup_path(store, record);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

bool
sundog_record_store_load(SundogRecordStore *store, const SundogPrefixRecord *record, void *state,
                         uint32_t depth)
{
    g_autofree char *path = dup_path(store, record);
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return false;
    if (!sundog_prefix_record_read(record, state, path, NULL)) {
        g_unlink(path);
        return false;
    }
    set_used(path, depth);
    return true;
}
