/* Prefix records: what comes back is what was kept, or nothing. */

#include "engine/format/error.h"
#include "engine/format/prefix-record.h"
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_TOKENS 64
#define N_BYTES 1000

static uint32_t tokens[N_TOKENS];
static uint8_t state[N_BYTES];
static char *folder;
static char *path;

static SundogPrefixRecord
make_record(void)
{
    SundogPrefixRecord record = {.tokens = tokens, .n_tokens = N_TOKENS, .n_bytes = N_BYTES};
    memset(record.key, 7, sizeof record.key);
    memset(record.parent, 9, sizeof record.parent);
    return record;
}

static void
write_record(const SundogPrefixRecord *record)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(sundog_prefix_record_write(record, state, path, &error));
    g_assert_no_error(error);
}

static void
refuse(const SundogPrefixRecord *record, int code)
{
    g_autoptr(GError) error = NULL;
    g_autofree uint8_t *found = g_malloc(record->n_bytes);
    g_assert_false(sundog_prefix_record_read(record, found, path, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, code);
}

static void
test_round_trip(void)
{
    SundogPrefixRecord record = make_record();
    uint8_t found[N_BYTES];
    struct stat info;
    write_record(&record);
    write_record(&record); /* over itself */
    g_assert_true(sundog_prefix_record_read(&record, found, path, NULL));
    g_assert_cmpmem(found, N_BYTES, state, N_BYTES);
    g_assert_cmpint(stat(path, &info), ==, 0);
    g_assert_cmpint(info.st_mode & 07777, ==, 0600);
}

/* A name stands for all that decides the state. */
static void
test_names(void)
{
    SundogPrefixRecord record = make_record();
    uint8_t name[SUNDOG_RECORD_HASH_BYTES], other[SUNDOG_RECORD_HASH_BYTES];
    sundog_prefix_record_get_name(&record, name);
    record.key[31]++;
    sundog_prefix_record_get_name(&record, other);
    g_assert_cmpint(memcmp(name, other, sizeof name), !=, 0);
    record = make_record();
    record.parent[0]++;
    sundog_prefix_record_get_name(&record, other);
    g_assert_cmpint(memcmp(name, other, sizeof name), !=, 0);
    record = make_record();
    uint32_t changed[N_TOKENS];
    memcpy(changed, tokens, sizeof changed);
    changed[N_TOKENS - 1]++;
    record.tokens = changed;
    sundog_prefix_record_get_name(&record, other);
    g_assert_cmpint(memcmp(name, other, sizeof name), !=, 0);
}

/* Another record in a record's place is none. */
static void
test_others(void)
{
    SundogPrefixRecord record = make_record();
    write_record(&record);
    record.key[0]++;
    refuse(&record, SUNDOG_FORMAT_ERROR_INVALID);
    record = make_record();
    record.parent[5]++;
    refuse(&record, SUNDOG_FORMAT_ERROR_INVALID);
    record = make_record();
    record.n_bytes--;
    refuse(&record, SUNDOG_FORMAT_ERROR_INVALID);
    record.n_bytes += 2;
    refuse(&record, SUNDOG_FORMAT_ERROR_TRUNCATED);
    g_unlink(path);
    record = make_record();
    refuse(&record, SUNDOG_FORMAT_ERROR_IO);
}

static void
test_damaged(void)
{
    SundogPrefixRecord record = make_record();
    g_autofree char *whole = NULL;
    size_t n_bytes;
    write_record(&record);
    g_assert_true(g_file_get_contents(path, &whole, &n_bytes, NULL));
    for (size_t i = 0; i < n_bytes; i += 7) {
        whole[i] ^= 16;
        g_assert_true(g_file_set_contents(path, whole, (gssize)n_bytes, NULL));
        refuse(&record, SUNDOG_FORMAT_ERROR_INVALID);
        whole[i] ^= 16;
        g_assert_true(g_file_set_contents(path, whole, (gssize)i, NULL));
        refuse(&record, SUNDOG_FORMAT_ERROR_TRUNCATED);
    }
    g_autofree char *longer = g_malloc0(n_bytes + 1);
    memcpy(longer, whole, n_bytes);
    g_assert_true(g_file_set_contents(path, longer, (gssize)n_bytes + 1, NULL));
    refuse(&record, SUNDOG_FORMAT_ERROR_INVALID);
}

/* Neither a link nor a pipe in a record's place is followed or waited for. */
static void
test_not_a_file(void)
{
    SundogPrefixRecord record = make_record();
    g_autofree char *elsewhere = g_build_filename(folder, "elsewhere", NULL);
    write_record(&record);
    g_assert_cmpint(g_rename(path, elsewhere), ==, 0);
    g_assert_cmpint(symlink(elsewhere, path), ==, 0);
    refuse(&record, SUNDOG_FORMAT_ERROR_IO);
    g_unlink(path);
    g_unlink(elsewhere);
    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    refuse(&record, SUNDOG_FORMAT_ERROR_TRUNCATED);
    g_unlink(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < N_TOKENS; i++)
        tokens[i] = (uint32_t)(i * 77777);
    for (size_t i = 0; i < N_BYTES; i++)
        state[i] = (uint8_t)(i * 31);
    folder = g_dir_make_tmp("records-XXXXXX", NULL);
    path = g_build_filename(folder, "record", NULL);
    g_test_add_func("/prefix-record/round-trip", test_round_trip);
    g_test_add_func("/prefix-record/names", test_names);
    g_test_add_func("/prefix-record/others", test_others);
    g_test_add_func("/prefix-record/damaged", test_damaged);
    g_test_add_func("/prefix-record/not-a-file", test_not_a_file);
    int status = g_test_run();
    g_unlink(path);
    g_rmdir(folder);
    g_free(path);
    g_free(folder);
    return status;
}
