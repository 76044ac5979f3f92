/*
 * Several processes on one folder of records: each writes, reads and evicts, two of them are killed as
 * they do; whatever a record's reader gets is whole, and what is left in the end is within the budget.
 */

#include "engine/cache/record-store.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_PROCESSES 4
#define N_KILLED 2
#define N_ROUNDS 400
#define N_RECORDS 40
#define STATE_BYTES 3000
#define MAX_BYTES (12 * STATE_BYTES)

static char *folder;

static SundogPrefixRecord
make_record(const uint32_t *token)
{
    return (SundogPrefixRecord){.key = {7}, .tokens = token, .n_tokens = 1, .n_bytes = STATE_BYTES};
}

/* Returns whether the record was there; what is there must be what its name says. */
static bool
load(SundogRecordStore *store, uint32_t token)
{
    uint8_t state[STATE_BYTES], expected[STATE_BYTES];
    SundogPrefixRecord record = make_record(&token);
    memset(expected, (int)token, sizeof expected);
    bool found = sundog_record_store_load(store, &record, state);
    if (found)
        g_assert_cmpmem(state, sizeof state, expected, sizeof expected);
    return found;
}

static bool
save(SundogRecordStore *store, uint32_t token)
{
    uint8_t state[STATE_BYTES];
    SundogPrefixRecord record = make_record(&token);
    memset(state, (int)token, sizeof state);
    return sundog_record_store_save(store, &record, state, NULL);
}

/* One engine's life; forever where it is to be killed. */
static void
be_engine(uint32_t seed, bool forever)
{
    g_autoptr(SundogRecordStore) store = sundog_record_store_open(folder, MAX_BYTES, NULL);
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    uint32_t n_found = 0;
    for (uint32_t i = 0; i < N_ROUNDS || forever; i++) {
        uint32_t token = (uint32_t)g_rand_int_range(random, 0, N_RECORDS);
        bool found = load(store, token);
        if (!found)
            g_assert_true(save(store, token));
        n_found += found;
    }
    g_assert_cmpuint(n_found, >, 0);
}

static pid_t
start_engine(uint32_t seed, bool forever)
{
    pid_t pid = fork();
    if (pid == 0) {
        be_engine(seed, forever);
        _exit(0);
    }
    return pid;
}

/* Of all records in the folder, which is empty then. */
static uint64_t
take_bytes(void)
{
    uint64_t n_bytes = 0;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        GStatBuf info;
        if (g_stat(path, &info) == 0 && strstr(name, ".part-") == NULL)
            n_bytes += (uint64_t)info.st_size;
        g_unlink(path);
    }
    return n_bytes;
}

static void
test_several_engines(void)
{
    pid_t engines[N_PROCESSES];
    int status;
    for (uint32_t i = 0; i < N_PROCESSES; i++)
        engines[i] = start_engine(i, i < N_KILLED);
    for (uint32_t i = N_KILLED; i < N_PROCESSES; i++) {
        g_assert_cmpint(waitpid(engines[i], &status, 0), ==, engines[i]);
        g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (uint32_t i = 0; i < N_KILLED; i++) {
        kill(engines[i], SIGKILL);
        g_assert_cmpint(waitpid(engines[i], &status, 0), ==, engines[i]);
        g_assert_true(WIFSIGNALED(status));
    }
    g_autoptr(SundogRecordStore) store = sundog_record_store_open(folder, MAX_BYTES, NULL);
    for (uint32_t token = 0; token < N_RECORDS; token++)
        load(store, token);
    g_assert_true(save(store, N_RECORDS));
    g_assert_true(load(store, N_RECORDS));
}

/* One that fills the folder again counts what the others left. */
static void
test_budget_after_others(void)
{
    {
        g_autoptr(SundogRecordStore) store = sundog_record_store_open(folder, MAX_BYTES, NULL);
        for (uint32_t token = 0; token < N_RECORDS; token++)
            g_assert_true(save(store, token));
    }
    g_assert_cmpuint(take_bytes(), <=, MAX_BYTES);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("shared-XXXXXX", NULL);
    g_test_add_func("/records/several-engines", test_several_engines);
    g_test_add_func("/records/budget-after-others", test_budget_after_others);
    int status = g_test_run();
    g_rmdir(folder);
    g_free(folder);
    return status;
}
