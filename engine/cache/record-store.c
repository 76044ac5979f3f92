/* Files named by hash; their times of modification order them for eviction. */

#include "engine/cache/record-store.h"

#include "engine/format/error.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

/* Of the budget, after eviction: so that not each record evicts one. */
#define KEPT_SHARE 0.9
/* Nobody writes a record for so long: its writer died. */
#define ABANDONED_S 3600
#define NS_PER_S 1000000000
#define PART ".part-"

struct SundogRecordStore {
    char *folder;
    uint64_t max_bytes;
    uint64_t n_bytes; /* as last counted, and what was written here since */
};

typedef struct RecordFile RecordFile;

struct RecordFile {
    char *path;
    int64_t used_ns;
    uint64_t n_bytes;
    RecordFile *parent; /* not owned; known once it is asked what to evict */
};

static RecordFile *
make_record_file(char *path, const struct stat *info)
{
    RecordFile *file = g_new0(RecordFile, 1);
    file->path = path;
    file->used_ns = (int64_t)info->st_mtim.tv_sec * NS_PER_S + info->st_mtim.tv_nsec;
    file->n_bytes = (uint64_t)info->st_size;
    return file;
}

static void
record_file_free(gpointer data)
{
    g_free(((RecordFile *)data)->path);
    g_free(data);
}

static int
compare_used(gconstpointer a, gconstpointer b)
{
    int64_t first = (*(RecordFile *const *)a)->used_ns, second = (*(RecordFile *const *)b)->used_ns;
    return first < second ? -1 : first > second;
}

static bool
is_abandoned(const struct stat *info)
{
    return info->st_mtime + ABANDONED_S < g_get_real_time() / G_USEC_PER_SEC;
}

/* All records; removes what dead writers left. Owned by the caller. */
static GPtrArray *
list_files(const SundogRecordStore *store)
{
    GPtrArray *files = g_ptr_array_new_with_free_func(record_file_free);
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
        g_ptr_array_add(files, make_record_file(g_steal_pointer(&path), &info));
    }
    return files;
}

static void
count_bytes(SundogRecordStore *store, const GPtrArray *files)
{
    store->n_bytes = 0;
    for (guint i = 0; i < files->len; i++)
        store->n_bytes += ((const RecordFile *)files->pdata[i])->n_bytes;
}

static char *
dup_path_of(const SundogRecordStore *store, const uint8_t name[SUNDOG_RECORD_HASH_BYTES])
{
    char text[2 * SUNDOG_RECORD_HASH_BYTES + 1];
    sodium_bin2hex(text, sizeof text, name, SUNDOG_RECORD_HASH_BYTES);
    return g_build_filename(store->folder, text, NULL);
}

static void
find_parents(const SundogRecordStore *store, GPtrArray *files)
{
    g_autoptr(GHashTable) by_path = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < files->len; i++) {
        RecordFile *file = files->pdata[i];
        g_hash_table_insert(by_path, file->path, file);
    }
    for (guint i = 0; i < files->len; i++) {
        RecordFile *file = files->pdata[i];
        uint8_t name[SUNDOG_RECORD_HASH_BYTES];
        if (!sundog_prefix_record_read_parent(file->path, name))
            continue;
        g_autofree char *path = dup_path_of(store, name);
        file->parent = g_hash_table_lookup(by_path, path);
    }
}

/* Whoever goes on with a sequence uses all of it, also what was in memory and not read from here. The
 * latest first, so that most walks end at once; bounded, for a damaged file may follow itself. */
static void
use_all_before(GPtrArray *files)
{
    g_ptr_array_sort(files, compare_used);
    for (guint i = files->len; i-- > 0;) {
        RecordFile *file = files->pdata[i];
        for (guint n = 0; n < files->len; n++, file = file->parent) {
            if (file->parent == NULL || file->parent->used_ns > file->used_ns)
                break;
            file->parent->used_ns = file->used_ns + 1;
        }
    }
}

static void
evict(SundogRecordStore *store)
{
    g_autoptr(GPtrArray) files = list_files(store);
    count_bytes(store, files);
    find_parents(store, files);
    use_all_before(files);
    g_ptr_array_sort(files, compare_used);
    uint64_t kept = (uint64_t)(KEPT_SHARE * (double)store->max_bytes);
    for (guint i = 0; i < files->len && store->n_bytes > kept; i++) {
        const RecordFile *file = files->pdata[i];
        g_unlink(file->path); /* or another engine did */
        store->n_bytes -= file->n_bytes;
    }
}

static char *
dup_path(const SundogRecordStore *store, const SundogPrefixRecord *record)
{
    uint8_t name[SUNDOG_RECORD_HASH_BYTES];
    sundog_prefix_record_get_name(record, name);
    return dup_path_of(store, name);
}

static void
set_used(const char *path)
{
    int64_t used_us = g_get_real_time();
    struct timespec time = {used_us / G_USEC_PER_SEC, used_us % G_USEC_PER_SEC * 1000};
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
    g_autoptr(GPtrArray) files = list_files(store);
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
                         const void *state, GError **error)
{
    g_autofree char *path = dup_path(store, record);
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        if (!sundog_prefix_record_write(record, state, path, error))
            return false;
        store->n_bytes += record->n_bytes;
    }
    set_used(path);
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
sundog_record_store_load(SundogRecordStore *store, const SundogPrefixRecord *record, void *state)
{
    g_autofree char *path = dup_path(store, record);
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return false;
    if (!sundog_prefix_record_read(record, state, path, NULL)) {
        g_unlink(path);
        return false;
    }
    set_used(path);
    return true;
}
