/* Pulls of several files: repositories of safetensors by their page, and GGUF models in several parts. */

#include "engine/library/folder.h"
#include "engine/library/pull.h"
#include "tests/library/file-server.h"
#include <glib/gstdio.h>
#include <string.h>

typedef struct {
    SundogLibrary *library;
    FileServer *files;
    char *folder; /* what the server has */
    GMainLoop *loop;
    char *name;
    GError *error;
} Fixture;

static void
put(const Fixture *fixture, const char *name, const char *text, size_t n_bytes)
{
    g_autofree char *path = g_build_filename(fixture->folder, name, NULL);
    g_assert_true(g_file_set_contents(path, text, (gssize)n_bytes, NULL));
}

static void
put_text(const Fixture *fixture, const char *name, const char *text)
{
    put(fixture, name, text, strlen(text));
}

/* A file that begins as safetensors do; what is in it is the model house's business. */
static void
put_tensors(const Fixture *fixture, const char *name)
{
    put(fixture, name, "\2\0\0\0\0\0\0\0{}", 10);
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    fixture->library = sundog_library_open(&error);
    g_assert_no_error(error);
    fixture->files = file_server_new(16);
    fixture->folder = g_dir_make_tmp("repository-XXXXXX", &error);
    g_assert_no_error(error);
    fixture->files->folder = fixture->folder;
    fixture->loop = g_main_loop_new(NULL, false);
    put_text(fixture, "config.json", "{}");
    put_text(fixture, "tokenizer.json", " {\"model\":{}}");
    put_text(fixture, "generation_config.json", "{}");
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    g_clear_error(&fixture->error);
    g_free(fixture->name);
    g_main_loop_unref(fixture->loop);
    file_server_free(fixture->files);
    sundog_folder_remove(fixture->folder, NULL, NULL);
    g_autoptr(GPtrArray) names = sundog_folder_list(sundog_paths_get_models(), NULL);
    for (guint i = 0; names && i < names->len; i++) {
        g_autofree char *path = g_build_filename(sundog_paths_get_models(), names->pdata[i], NULL);
        sundog_folder_remove(path, NULL, NULL);
    }
    sundog_library_free(fixture->library);
    g_free(fixture->folder);
}

static void
on_pulled(GObject *source, GAsyncResult *result, void *data)
{
    Fixture *fixture = data;
    g_clear_pointer(&fixture->name, g_free);
    g_clear_error(&fixture->error);
    fixture->name = sundog_pull_finish(fixture->library, result, &fixture->error);
    g_main_loop_quit(fixture->loop);
}

static void
pull(Fixture *fixture, const char *place)
{
    g_autofree char *url = g_strdup_printf("http://127.0.0.1:%u%s", fixture->files->port, place);
    const SundogPullOptions options = {.source = url, .first_backoff_ms = 1, .stall_seconds = 60};
    sundog_pull_async(fixture->library, NULL, &options, NULL, on_pulled, fixture);
    g_main_loop_run(fixture->loop);
}

/* The files that model.json names are there, and they are these. */
static void
assert_files(Fixture *fixture, const char *name, const char *main_end, const char *list)
{
    g_assert_no_error(fixture->error);
    g_assert_cmpstr(fixture->name, ==, name);
    g_autoptr(SundogLibraryEntry) entry = sundog_library_find_model(fixture->library, name, NULL);
    g_assert_false(entry->damaged);
    g_assert_true(g_str_has_suffix(entry->path, main_end));
    g_autoptr(GString) found = g_string_new(NULL);
    JsonArray *files = json_object_get_array_member(entry->info, "files");
    for (guint i = 0; i < json_array_get_length(files); i++) {
        JsonObject *file = json_array_get_object_element(files, i);
        g_string_append_printf(found, "%s%s", i > 0 ? " " : "",
                               json_object_get_string_member(file, "name"));
        g_assert_cmpuint(strlen(json_object_get_string_member(file, "sha256")), ==, 64);
    }
    g_assert_cmpstr(found->str, ==, list);
}

static void
test_single(Fixture *fixture, gconstpointer data)
{
    put_tensors(fixture, "model.safetensors");
    pull(fixture, "/Owner/Tiny-0.1B");
    assert_files(fixture, "tiny-0.1b", "/tiny-0.1b",
                 "config.json tokenizer.json generation_config.json model.safetensors");
    g_assert_cmpstr(file_server_get_request(fixture->files, 0).path, ==,
                    "/Owner/Tiny-0.1B/resolve/main/config.json");
}

/* A folder of any host, with an index and a template. */
static void
test_shards(Fixture *fixture, gconstpointer data)
{
    put_text(fixture, "chat_template.jinja", "{{ messages }}");
    put_text(fixture, "model.safetensors.index.json",
             "{\"weight_map\":{\"b\":\"model-2.safetensors\",\"a\":\"model-1.safetensors\","
             "\"c\":\"model-2.safetensors\"}}");
    put_tensors(fixture, "model-1.safetensors");
    put_tensors(fixture, "model-2.safetensors");
    pull(fixture, "/some/where/deep/Shards/");
    assert_files(fixture, "shards", "/shards",
                 "config.json tokenizer.json generation_config.json chat_template.jinja "
                 "model.safetensors.index.json model-1.safetensors model-2.safetensors");
}

/* What was fetched whole before the pull broke off is read back, not fetched again. */
static void
test_resumed(Fixture *fixture, gconstpointer data)
{
    put_text(fixture, "model.safetensors.index.json",
             "{\"weight_map\":{\"a\":\"model-1.safetensors\",\"b\":\"model-2.safetensors\"}}");
    put_tensors(fixture, "model-1.safetensors");
    pull(fixture, "/Owner/Tiny");
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_ABSENT);
    g_assert_nonnull(strstr(fixture->error->message, "not there"));
    g_autoptr(SundogLibraryEntry) entry = sundog_library_find_model(fixture->library, "tiny", NULL);
    g_assert_true(entry == NULL || entry->damaged);
    put_tensors(fixture, "model-2.safetensors");
    guint n_before = file_server_get_n_requests(fixture->files);
    pull(fixture, "/Owner/Tiny");
    assert_files(fixture, "tiny", "/tiny",
                 "config.json tokenizer.json generation_config.json "
                 "model.safetensors.index.json model-1.safetensors model-2.safetensors");
    /* The second shard, and the five texts that the host does not have. */
    g_assert_cmpuint(file_server_get_n_requests(fixture->files) - n_before, ==, 6);
}

/* sentence-transformers' modules lie in folders of their own. */
static void
test_modules(Fixture *fixture, gconstpointer data)
{
    put_text(fixture, "modules.json",
             "[{\"path\": \"\", \"type\": \"a.Transformer\"},"
             " {\"path\": \"1_Pooling\", \"type\": \"a.Pooling\"},"
             " {\"path\": \"2_Dense\", \"type\": \"a.Dense\"},"
             " {\"path\": \"3_Normalize\", \"type\": \"a.Normalize\"}]");
    put_tensors(fixture, "model.safetensors");
    pull(fixture, "/Owner/Tiny");
    assert_files(fixture, "tiny", "/tiny",
                 "config.json tokenizer.json generation_config.json modules.json "
                 "1_Pooling/config.json 2_Dense/config.json 2_Dense/model.safetensors "
                 "model.safetensors");
    g_autofree char *path =
        g_build_filename(sundog_paths_get_models(), "tiny", "2_Dense", "model.safetensors", NULL);
    g_assert_true(g_file_test(path, G_FILE_TEST_IS_REGULAR));
}

/* A module's folder is one beside the others. */
static void
test_wrong_module(Fixture *fixture, gconstpointer data)
{
    static const char *const paths[] = {"..", "../x", "a/b", "/etc", ".hidden"};
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autofree char *text =
            g_strdup_printf("[{\"path\": \"%s\", \"type\": \"a.Pooling\"}]", paths[i]);
        g_autofree char *place = g_strdup_printf("/Owner/Tiny-%zu", i);
        put_text(fixture, "modules.json", text);
        pull(fixture, place);
        g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID);
        g_assert_nonnull(strstr(fixture->error->message, "cannot be a folder's name"));
    }
}

/* Where there is no tokenizer.json, sentencepiece's own file takes its place. */
static void
test_pieces(Fixture *fixture, gconstpointer data)
{
    g_autofree char *path = g_build_filename(fixture->folder, "tokenizer.json", NULL);
    g_assert_cmpint(g_unlink(path), ==, 0);
    put_text(fixture, "tokenizer.model", "pieces");
    put_tensors(fixture, "model.safetensors");
    pull(fixture, "/Owner/Tiny");
    assert_files(fixture, "tiny", "/tiny",
                 "config.json generation_config.json tokenizer.model model.safetensors");
}

/* What is no repository, and what leads elsewhere. */
static void
test_wrong(Fixture *fixture, gconstpointer data)
{
    put_text(fixture, "config.json", "<html>Sign in</html>");
    pull(fixture, "/Owner/Tiny");
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_MISMATCH);
    put_text(fixture, "config.json", "{}");
    put_text(fixture, "model.safetensors.index.json",
             "{\"weight_map\":{\"a\":\"../../../x.safetensors\"}}");
    pull(fixture, "/Owner/Tiny");
    g_assert_nonnull(strstr(fixture->error->message, "no name of a file"));
    pull(fixture, "/Owner/Tiny/blob/main");
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID);
    pull(fixture, "/Tiny");
    g_assert_error(fixture->error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID);
}

/* By the URL of any part, all come, and the first is the main file. */
static void
test_parts(Fixture *fixture, gconstpointer data)
{
    put_text(fixture, "Big-Q8_0-00001-of-00003.gguf", "GGUF1");
    put_text(fixture, "Big-Q8_0-00002-of-00003.gguf", "GGUF2");
    put_text(fixture, "Big-Q8_0-00003-of-00003.gguf", "GGUF3");
    pull(fixture, "/Owner/Big-GGUF/resolve/main/Big-Q8_0-00002-of-00003.gguf?download=true");
    assert_files(fixture, "big-q8_0", "/big-q8_0/Big-Q8_0-00001-of-00003.gguf",
                 "Big-Q8_0-00001-of-00003.gguf Big-Q8_0-00002-of-00003.gguf "
                 "Big-Q8_0-00003-of-00003.gguf");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    static const struct {
        const char *path;
        void (*test)(Fixture *, gconstpointer);
    } tests[] = {
        {"/pull-folder/single", test_single},   {"/pull-folder/shards", test_shards},
        {"/pull-folder/resumed", test_resumed}, {"/pull-folder/wrong", test_wrong},
        {"/pull-folder/modules", test_modules}, {"/pull-folder/wrong-module", test_wrong_module},
        {"/pull-folder/pieces", test_pieces},   {"/pull-folder/parts", test_parts}};
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].test, tear_down);
    return g_test_run();
}
