/*
 * Pulls against a file server with every fault that downloads meet (reports D1 to D20). What happens
 * next is decided by what was seen, never by a time: each step waits for the one before it.
 */

#include "engine/library/folder.h"
#include "engine/library/model-folder.h"
#include "engine/library/pull.h"
#include "tests/library/file-server.h"
#include "tests/library/small-disk.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>

#define MIB (1u << 20)

static char *program;

typedef struct {
    SundogLibrary *library;
    FileServer *files;
    char *url;
    GCancellable *cancellable;
    GMainLoop *loop;
    char *name;
    GError *error;
    guint n_waits;
    guint n_running;
    char *first_detail;                 /* of the first wait */
    uint64_t n_kept;                    /* bytes, at the last wait */
    uint64_t cancel_at;                 /* cancels as soon as so many bytes have come; 0: never */
    bool cancels_waits;                 /* cancels in the first wait */
    guint starts_files_at;              /* this wait opens the file server again; 0: none */
    void (*on_transfer)(void *fixture); /* once */
} Fixture;

static void
set_up_with(Fixture *fixture, size_t n_bytes)
{
    g_autoptr(GError) error = NULL;
    fixture->library = sundog_library_open(&error);
    g_assert_no_error(error);
    fixture->files = file_server_new(n_bytes);
    fixture->url = file_server_dup_url(fixture->files, "Tiny.gguf");
    fixture->cancellable = g_cancellable_new();
    fixture->loop = g_main_loop_new(NULL, false);
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    set_up_with(fixture, data ? (size_t)GPOINTER_TO_UINT(data) : MIB);
}

static void
forget(Fixture *fixture)
{
    g_clear_pointer(&fixture->name, g_free);
    g_clear_error(&fixture->error);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    forget(fixture);
    g_free(fixture->first_detail);
    g_main_loop_unref(fixture->loop);
    g_object_unref(fixture->cancellable);
    g_free(fixture->url);
    file_server_free(fixture->files);
    sundog_library_free(fixture->library);
    g_autoptr(GPtrArray) names = sundog_folder_list(sundog_paths_get_models(), NULL);
    for (guint i = 0; names && i < names->len; i++) {
        g_autofree char *path = g_build_filename(sundog_paths_get_models(), names->pdata[i], NULL);
        sundog_folder_remove(path, NULL, NULL);
    }
}

static void
on_wait(Fixture *fixture, const SundogPullProgress *progress)
{
    if (fixture->n_waits++ == 0)
        fixture->first_detail = g_strdup(progress->detail);
    fixture->n_kept = progress->n_bytes_done;
    if (fixture->n_waits == fixture->starts_files_at)
        file_server_start(fixture->files);
    if (fixture->cancels_waits)
        g_cancellable_cancel(fixture->cancellable);
}

static void
on_progress(const SundogPullProgress *progress, void *data)
{
    Fixture *fixture = data;
    if (progress->phase == SUNDOG_PULL_WAITING)
        on_wait(fixture, progress);
    if (fixture->cancel_at && progress->n_bytes_done >= fixture->cancel_at) {
        fixture->cancel_at = 0;
        g_cancellable_cancel(fixture->cancellable);
    }
    if (progress->phase == SUNDOG_PULL_TRANSFER && fixture->on_transfer) {
        void (*call)(void *) = g_steal_pointer(&fixture->on_transfer);
        call(fixture);
    }
    if (progress->n_bytes_total)
        g_assert_cmpuint(progress->n_bytes_done, <=, progress->n_bytes_total);
}

static void
on_pulled(GObject *source, GAsyncResult *result, void *data)
{
    Fixture *fixture = data;
    forget(fixture);
    fixture->name = sundog_pull_finish(fixture->library, result, &fixture->error);
    if (--fixture->n_running == 0)
        g_main_loop_quit(fixture->loop);
}

static void
begin(Fixture *fixture, const SundogPullOptions *options, const SundogCatalogue *catalogue)
{
    SundogPullOptions own = *options;
    own.source = own.source ? own.source : fixture->url;
    own.progress = on_progress;
    own.data = fixture;
    own.stall_seconds = own.stall_seconds ? own.stall_seconds : 60;
    own.first_backoff_ms = own.first_backoff_ms ? own.first_backoff_ms : 1;
    fixture->n_running++;
    sundog_pull_async(fixture->library, catalogue, &own, fixture->cancellable, on_pulled, fixture);
}

static void
pull(Fixture *fixture, const SundogPullOptions *options)
{
    begin(fixture, options, NULL);
    g_main_loop_run(fixture->loop);
}

#define PULL(fixture, ...) pull(fixture, &(SundogPullOptions){__VA_ARGS__})

static void
assert_pulled(Fixture *fixture)
{
    g_assert_no_error(fixture->error);
    g_assert_cmpstr(fixture->name, ==, "tiny");
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogLibraryEntry) entry =
        sundog_library_find_model(fixture->library, "tiny", &error);
    g_assert_no_error(error);
    g_assert_false(entry->damaged);
    g_autofree char *data = NULL;
    size_t n_bytes = 0;
    g_assert_true(g_file_get_contents(entry->path, &data, &n_bytes, NULL));
    g_assert_cmpmem(data, n_bytes, fixture->files->data, fixture->files->n_bytes);
    g_autofree char *folder = g_path_get_dirname(entry->path);
    g_autoptr(GPtrArray) names = sundog_folder_list(folder, NULL);
    g_assert_cmpuint(names->len, ==, 2); /* the file and model.json: nothing partial is left */
}

static void
assert_sent_below(Fixture *fixture, double share)
{
    g_assert_cmpfloat((double)file_server_get_n_bytes_sent(fixture->files), <,
                      share * (double)fixture->files->n_bytes);
}

static void
test_plain(Fixture *fixture, gconstpointer data)
{
    PULL(fixture);
    assert_pulled(fixture);
    guint n = file_server_get_n_requests(fixture->files);
    PULL(fixture); /* what is there is not fetched again */
    g_assert_cmpstr(fixture->name, ==, "tiny");
    g_assert_cmpuint(file_server_get_n_requests(fixture->files), ==, n);
}

/* Until the state beside the partial file tells of so many bytes. */
static void
wait_for_synced(size_t n_bytes)
{
    g_autofree char *path = g_build_filename(sundog_paths_get_models(), "tiny",
                                             "Tiny.gguf" SUNDOG_PARTIAL_STATE_SUFFIX, NULL);
    g_autofree char *wanted = g_strdup_printf("%020zu", n_bytes);
    for (bool stands = false; !stands; g_usleep(10000)) {
        g_autofree char *state = NULL;
        stands = g_file_get_contents(path, &state, NULL, NULL) && strstr(state, wanted);
    }
}

/* D1: killed at 60 %, a second process goes on where the first one was. */
static void
test_killed(Fixture *fixture, gconstpointer data)
{
    fixture->files->stall_times = 1;
    fixture->files->stall_bytes = MIB * 6 / 10;
    g_autoptr(GError) error = NULL;
    g_autoptr(GSubprocess) child =
        g_subprocess_new(G_SUBPROCESS_FLAGS_NONE, &error, program, "--pull", fixture->url, NULL);
    g_assert_no_error(error);
    wait_for_synced(fixture->files->stall_bytes); /* what is silent for half a second is */
    g_subprocess_send_signal(child, SIGKILL);
    g_subprocess_wait(child, NULL, NULL);
    g_autoptr(SundogLibraryEntry) entry = sundog_library_find_model(fixture->library, "tiny", NULL);
    g_assert_true(entry && entry->damaged); /* D6: a partial file is no model */
    PULL(fixture);
    assert_pulled(fixture);
    FileRequest request = file_server_get_request(fixture->files, 1);
    g_assert_true(request.has_range);
    g_assert_cmpuint(request.first, ==, MIB * 6 / 10);
    g_assert_cmpstr(request.if_range, ==, "\"one\"");
    assert_sent_below(fixture, 1.1);
}

/* D14: nine interruptions throw nothing away. */
static void
test_nine_cuts(Fixture *fixture, gconstpointer data)
{
    fixture->files->cut_times = 9;
    fixture->files->cut_bytes = MIB / 12;
    PULL(fixture, .max_tries = 3);
    assert_pulled(fixture);
    g_assert_cmpuint(file_server_get_n_requests(fixture->files), ==, 10);
    assert_sent_below(fixture, 1.1);
}

/* D8: an empty body is a bad moment, and no file. */
static void
test_empty(Fixture *fixture, gconstpointer data)
{
    fixture->files->empty_times = 2;
    PULL(fixture);
    assert_pulled(fixture);
    g_assert_cmpuint(fixture->n_waits, ==, 2);
}

static void
test_empty_for_ever(Fixture *fixture, gconstpointer data)
{
    fixture->files->empty_times = 1000;
    PULL(fixture, .max_tries = 3);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NETWORK);
    g_assert_nonnull(strstr(fixture->error->message, "empty"));
}

/* D10: a line that is silent with the socket open. */
static void
test_stall(Fixture *fixture, gconstpointer data)
{
    fixture->files->stall_times = 1;
    fixture->files->stall_bytes = MIB / 2;
    PULL(fixture, .stall_seconds = 1);
    assert_pulled(fixture);
    g_assert_nonnull(strstr(fixture->first_detail, "Nothing came"));
    /* On a machine that itself stands still for a second there may be more than one. */
    FileRequest last =
        file_server_get_request(fixture->files, file_server_get_n_requests(fixture->files) - 1);
    g_assert_cmpuint(fixture->n_waits, >=, 1);
    g_assert_cmpuint(last.first, ==, fixture->n_kept);
}

/* D11: 503 five times, then fifty times. */
static void
test_unavailable(Fixture *fixture, gconstpointer data)
{
    fixture->files->status = 503;
    fixture->files->status_times = 5;
    PULL(fixture);
    assert_pulled(fixture);
    g_assert_cmpuint(fixture->n_waits, ==, 5);
}

static void
test_unavailable_for_ever(Fixture *fixture, gconstpointer data)
{
    fixture->files->status = 503;
    fixture->files->status_times = 50;
    PULL(fixture);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NETWORK);
    g_assert_nonnull(strstr(fixture->error->message, "503"));
    g_assert_cmpuint(file_server_get_n_requests(fixture->files), ==, 8);
    fixture->files->status_times = 0;
    PULL(fixture); /* the retry button */
    assert_pulled(fixture);
}

/* D12: the host is away for a while: the try after the first cut finds nobody. */
static void
stop_files(void *data)
{
    Fixture *fixture = data;
    file_server_stop(fixture->files);
}

static void
test_away(Fixture *fixture, gconstpointer data)
{
    fixture->files->cut_times = 1;
    fixture->files->cut_bytes = MIB / 2;
    fixture->on_transfer = stop_files;
    fixture->starts_files_at = 3;
    PULL(fixture);
    assert_pulled(fixture);
    g_assert_cmpuint(fixture->n_waits, ==, 3);
    assert_sent_below(fixture, 1.1);
}

/* D6: one writer, in this process and in another. */
static void
test_twice(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GCancellable) second = g_cancellable_new();
    fixture->files->stall_times = 1;
    fixture->files->stall_bytes = 1000;
    g_autoptr(GSubprocess) child =
        g_subprocess_new(G_SUBPROCESS_FLAGS_NONE, NULL, program, "--pull", fixture->url, NULL);
    while (file_server_get_n_bytes_sent(fixture->files) < 1000)
        g_usleep(10000);
    PULL(fixture);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_BUSY);
    g_subprocess_force_exit(child);
    g_subprocess_wait(child, NULL, NULL);
    begin(fixture, &(SundogPullOptions){0}, NULL);
    begin(fixture, &(SundogPullOptions){0}, NULL);
    g_main_loop_run(fixture->loop);
    g_autoptr(SundogLibraryEntry) entry = sundog_library_find_model(fixture->library, "tiny", NULL);
    g_assert_true(entry && !entry->damaged);
    g_assert_cmpuint(entry->n_bytes, >, MIB);
    g_assert_cmpuint(entry->n_bytes, <, MIB + 4096);
}

/* Another file stands there by now: it is fetched whole, and never mixed with the first. */
static void
test_changed(Fixture *fixture, gconstpointer data)
{
    fixture->files->cut_times = 1000;
    fixture->files->cut_bytes = MIB / 4;
    PULL(fixture, .max_tries = 1);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NETWORK);
    fixture->files->cut_times = 0;
    fixture->files->etag = "\"two\"";
    fixture->files->data[5] ^= 255;
    PULL(fixture);
    assert_pulled(fixture);
}

static void
test_without_ranges(Fixture *fixture, gconstpointer data)
{
    fixture->files->ignores_ranges = true;
    fixture->files->cut_times = 1;
    fixture->files->cut_bytes = MIB / 2;
    PULL(fixture);
    assert_pulled(fixture);
}

static void
test_cancelled(Fixture *fixture, gconstpointer data)
{
    fixture->files->stall_times = 1;
    fixture->files->stall_bytes = MIB / 2;
    fixture->cancel_at = MIB / 2;
    PULL(fixture);
    g_assert_error(fixture->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_cancellable_reset(fixture->cancellable);
    PULL(fixture);
    assert_pulled(fixture);
    assert_sent_below(fixture, 1.1);
}

/* Cancelled while it waits between two tries. */
static void
test_cancelled_waiting(Fixture *fixture, gconstpointer data)
{
    fixture->files->status = 503;
    fixture->files->status_times = 50;
    fixture->cancels_waits = true;
    PULL(fixture, .first_backoff_ms = 20000);
    g_assert_cmpuint(fixture->n_waits, ==, 1);
    g_assert_error(fixture->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* D20: what the host says decides what the person is told; the token is told to no one else. */
static void
assert_refused(Fixture *fixture, int status, const char *headers, const char *token,
               const char *words)
{
    fixture->files->status = status;
    fixture->files->status_times = 1;
    fixture->files->status_headers = headers;
    PULL(fixture, .token = token);
    int code = status == 404 ? SUNDOG_LIBRARY_ERROR_ABSENT : SUNDOG_LIBRARY_ERROR_REFUSED;
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, code);
    g_test_message("%s", fixture->error->message);
    g_assert_nonnull(strstr(fixture->error->message, words));
    g_assert_null(strstr(fixture->error->message, "sesame"));
    FileRequest request =
        file_server_get_request(fixture->files, file_server_get_n_requests(fixture->files) - 1);
    g_assert_cmpint(request.has_token, ==, token != NULL);
}

static void
test_refused(Fixture *fixture, gconstpointer data)
{
    assert_refused(fixture, 401, NULL, NULL, "wants an access token");
    assert_refused(fixture, 401, NULL, "sesame", "was not accepted");
    assert_refused(fixture, 403, "X-Error-Code: GatedRepo\r\n", "sesame",
                   "licence is not accepted");
    assert_refused(fixture, 403, NULL, "sesame", "may not read it");
    assert_refused(fixture, 401, "X-Error-Code: RepoNotFound\r\n", NULL, "private");
    assert_refused(fixture, 404, NULL, NULL, "not there");
}

/* Sent on to another host, as hubs do with large files: the token stays behind. */
static void
test_moved(Fixture *fixture, gconstpointer data)
{
    fixture->files->moves_to =
        g_strdup_printf("http://localhost:%u/moved/blob", fixture->files->port);
    fixture->files->cut_times = 1;
    fixture->files->cut_bytes = MIB / 2;
    PULL(fixture, .token = "sesame");
    assert_pulled(fixture);
    for (guint i = 0; i < file_server_get_n_requests(fixture->files); i++) {
        FileRequest request = file_server_get_request(fixture->files, i);
        g_assert_cmpint(request.has_token, ==, !g_str_has_prefix(request.path, "/moved"));
    }
    assert_sent_below(fixture, 1.1);
}

static void
test_moved_for_ever(Fixture *fixture, gconstpointer data)
{
    fixture->files->moves_to = g_strdup(fixture->url);
    PULL(fixture);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_REFUSED);
}

static void
test_no_gguf(Fixture *fixture, gconstpointer data)
{
    memcpy(fixture->files->data, "<!do", 4);
    PULL(fixture);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_MISMATCH);
    g_autoptr(SundogLibraryEntry) entry = sundog_library_find_model(fixture->library, "tiny", NULL);
    g_assert_null(entry);
}

static void
test_bad_sources(Fixture *fixture, gconstpointer data)
{
    const char *const bad[] = {"no-such-model",
                               "ftp://host/x.gguf",
                               "https://host/",
                               "https://host/x.bin",
                               "https://user:secret@host/x.gguf",
                               "https://host/..%2f..%2fx.gguf/..",
                               "https://host/.gguf",
                               "https://host/%00.gguf",
                               "http:///x.gguf"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        PULL(fixture, .source = bad[i]);
        g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID);
        g_assert_null(strstr(fixture->error->message, "secret"));
    }
    PULL(fixture, .name = "../up");
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID);
}

/* Catalogue entries: size and hash. */

static SundogCatalogue *
make_catalogue(Fixture *fixture, uint64_t n_bytes, const char *sha256)
{
    g_autofree char *text = g_strdup_printf(
        "{\"version\":1,\"models\":[{\"name\":\"tiny\",\"title\":\"Tiny\",\"licence\":\"MIT\","
        "\"n_parameters\":7,\"files\":[{\"name\":\"Tiny.gguf\",\"url\":\"%s\",\"bytes\":"
        "%" G_GUINT64_FORMAT ",\"sha256\":\"%s\"}]}]}",
        fixture->url, n_bytes, sha256);
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "sundog-catalogue.json", NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    g_autoptr(GError) error = NULL;
    SundogCatalogue *catalogue = sundog_catalogue_open(path, &error);
    g_assert_no_error(error);
    g_unlink(path);
    return catalogue;
}

static void
pull_entry(Fixture *fixture, const SundogCatalogue *catalogue, const char *from)
{
    begin(fixture, &(SundogPullOptions){.source = "tiny", .from = from}, catalogue);
    g_main_loop_run(fixture->loop);
}

static void
test_size_before_hash(Fixture *fixture, gconstpointer data)
{
    g_autofree char *sha256 = file_server_dup_sha256(fixture->files);
    g_autoptr(SundogCatalogue) catalogue = make_catalogue(fixture, MIB + 1, sha256);
    pull_entry(fixture, catalogue, NULL);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_MISMATCH);
    g_assert_nonnull(strstr(fixture->error->message, "1048577"));
    /* Told by the header: nothing of the body was taken in. */
    g_autofree char *folder = g_build_filename(sundog_paths_get_models(), "tiny", NULL);
    g_assert_cmpuint(sundog_folder_get_bytes(folder), <, 4096);
}

static void
test_wrong_hash(Fixture *fixture, gconstpointer data)
{
    g_autofree char *zeros = g_strnfill(64, '0');
    g_autofree char *sha256 = file_server_dup_sha256(fixture->files);
    g_autoptr(SundogCatalogue) catalogue = make_catalogue(fixture, MIB, zeros);
    pull_entry(fixture, catalogue, NULL);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_MISMATCH);
    g_assert_nonnull(strstr(fixture->error->message, sha256));
    g_assert_nonnull(strstr(fixture->error->message, zeros));
    g_autoptr(SundogCatalogue) right = make_catalogue(fixture, MIB, sha256);
    pull_entry(fixture, right, NULL);
    assert_pulled(fixture);
}

static void
test_from(Fixture *fixture, gconstpointer data)
{
    g_autofree char *sha256 = file_server_dup_sha256(fixture->files);
    g_autofree char *path = g_build_filename(g_get_tmp_dir(), "sundog-from.gguf", NULL);
    g_autoptr(SundogCatalogue) catalogue = make_catalogue(fixture, MIB, sha256);
    g_assert_true(g_file_set_contents(path, (char *)fixture->files->data, MIB - 1, NULL));
    pull_entry(fixture, catalogue, path);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_MISMATCH);
    g_autofree uint8_t *other = g_memdup2(fixture->files->data, MIB);
    other[1000] ^= 1;
    g_assert_true(g_file_set_contents(path, (char *)other, MIB, NULL));
    pull_entry(fixture, catalogue, path);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_MISMATCH);
    g_assert_true(g_file_set_contents(path, (char *)fixture->files->data, MIB, NULL));
    pull_entry(fixture, catalogue, path);
    assert_pulled(fixture);
    g_assert_cmpuint(file_server_get_n_requests(fixture->files), ==, 0);
    pull_entry(fixture, catalogue, "/nonexistent");
    g_assert_no_error(fixture->error); /* it is there already */
    g_unlink(path);
}

static void
test_from_missing(Fixture *fixture, gconstpointer data)
{
    g_autofree char *sha256 = file_server_dup_sha256(fixture->files);
    g_autoptr(SundogCatalogue) catalogue = make_catalogue(fixture, MIB, sha256);
    const char *const bad[] = {"/nonexistent.gguf", "/tmp", "/dev/zero"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        pull_entry(fixture, catalogue, bad[i]);
        g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_IO);
    }
}

/* D2: told before, and with the length unknown in the middle; with room made, it goes on. */
static void
test_full_disk(Fixture *fixture, gconstpointer data)
{
    if (!small_disk_mount(sundog_paths_get_models(), 2 * MIB))
        return;
    PULL(fixture);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NO_SPACE);
    g_test_message("%s", fixture->error->message);
    fixture->files->hides_length = true;
    PULL(fixture);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NO_SPACE);
    small_disk_resize(sundog_paths_get_models(), 16 * MIB);
    guint n = file_server_get_n_requests(fixture->files);
    PULL(fixture);
    assert_pulled(fixture);
    FileRequest request = file_server_get_request(fixture->files, n);
    g_assert_cmpuint(request.first, >, MIB);
    small_disk_unmount(sundog_paths_get_models());
}

static void
test_no_room_at_all(Fixture *fixture, gconstpointer data)
{
    if (!small_disk_mount(sundog_paths_get_models(), 2 * MIB))
        return;
    small_disk_fill(sundog_paths_get_models());
    PULL(fixture);
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NO_SPACE);
    small_disk_unmount(sundog_paths_get_models());
}

/* The other process of D1 and D6. */
static int
pull_in_child(const char *url)
{
    Fixture fixture = {.url = g_strdup(url), .loop = g_main_loop_new(NULL, false)};
    fixture.library = sundog_library_open(NULL);
    PULL(&fixture, .stall_seconds = 60);
    return fixture.name ? 0 : 1;
}

int
main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 3 && strcmp(argv[1], "--pull") == 0)
        return pull_in_child(argv[2]);
    small_disk_init();
    g_test_init(&argc, &argv, NULL);
#define ADD(path, size, function) \
    g_test_add("/pull/" path, Fixture, GUINT_TO_POINTER(size), set_up, function, tear_down)
    ADD("plain", MIB, test_plain);
    ADD("killed", MIB, test_killed);
    ADD("nine-cuts", MIB, test_nine_cuts);
    ADD("empty", MIB, test_empty);
    ADD("empty-for-ever", MIB, test_empty_for_ever);
    ADD("stall", MIB, test_stall);
    ADD("unavailable", MIB, test_unavailable);
    ADD("unavailable-for-ever", MIB, test_unavailable_for_ever);
    ADD("away", MIB, test_away);
    ADD("twice", MIB, test_twice);
    ADD("changed", MIB, test_changed);
    ADD("without-ranges", MIB, test_without_ranges);
    ADD("cancelled", MIB, test_cancelled);
    ADD("cancelled-waiting", MIB, test_cancelled_waiting);
    ADD("refused", MIB, test_refused);
    ADD("moved", MIB, test_moved);
    ADD("moved-for-ever", MIB, test_moved_for_ever);
    ADD("no-gguf", MIB, test_no_gguf);
    ADD("bad-sources", MIB, test_bad_sources);
    ADD("size-before-hash", MIB, test_size_before_hash);
    ADD("wrong-hash", MIB, test_wrong_hash);
    ADD("from", MIB, test_from);
    ADD("from-missing", MIB, test_from_missing);
    ADD("full-disk", 5 * MIB, test_full_disk);
    ADD("no-room-at-all", 5 * MIB, test_no_room_at_all);
#undef ADD
    return g_test_run();
}
