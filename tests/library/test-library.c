/* The library on disk: odd entries, deleting, drives that go away, other places (reports D3, D15, D17 to
 * D19, D22, U17). */

#include "engine/library/folder.h"
#include "engine/library/library.h"
#include "engine/library/pull-lock.h"
#include "tests/library/small-disk.h"
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program;

static SundogLibrary *
open_library(void)
{
    g_autoptr(GError) error = NULL;
    SundogLibrary *library = sundog_library_open(&error);
    g_assert_no_error(error);
    return library;
}

static void
put(const char *path, const char *text)
{
    g_autofree char *full = g_build_filename(sundog_paths_get_models(), path, NULL);
    g_autofree char *folder = g_path_get_dirname(full);
    g_mkdir_with_parents(folder, 0700);
    g_assert_true(g_file_set_contents(full, text, -1, NULL));
}

static void
put_model(const char *name, const char *bytes)
{
    g_autofree char *file = g_strdup_printf("%s/a.gguf", name);
    g_autofree char *info = g_strdup_printf("%s/model.json", name);
    g_autofree char *text =
        g_strdup_printf("{\"version\":1,\"name\":\"%s\",\"title\":\"T\",\"file\":\"a.gguf\","
                        "\"files\":[{\"name\":\"a.gguf\",\"bytes\":%s,\"sha256\":\"\"}]}",
                        name, bytes);
    put(file, "GGUF");
    put(info, text);
}

static void
clear(void)
{
    g_autoptr(GPtrArray) names = sundog_folder_list(sundog_paths_get_models(), NULL);
    for (guint i = 0; names && i < names->len; i++) {
        g_autofree char *path = g_build_filename(sundog_paths_get_models(), names->pdata[i], NULL);
        g_assert_true(sundog_folder_remove(path, NULL, NULL));
    }
}

static SundogLibraryEntry *
find(SundogLibrary *library, const char *name)
{
    g_autoptr(GError) error = NULL;
    SundogLibraryEntry *entry = sundog_library_find_model(library, name, &error);
    g_assert_no_error(error);
    return entry;
}

static void
assert_damaged(SundogLibrary *library, const char *name, const char *words)
{
    g_autoptr(SundogLibraryEntry) entry = find(library, name);
    g_assert_true(entry->damaged);
    g_test_message("%s: %s", name, entry->problem);
    g_assert_nonnull(strstr(entry->problem, words));
    g_assert_null(entry->info);
}

static void
test_entries(void)
{
    g_autoptr(SundogLibrary) library = open_library();
    put_model("good", "4");
    put_model("short", "5");
    put_model("missing", "4");
    g_autofree char *gone = g_build_filename(sundog_paths_get_models(), "missing", "a.gguf", NULL);
    g_unlink(gone);
    put("cut/model.json", "{\"version\":1,\"na");
    put("list/model.json", "[]");
    put("up/model.json", "{\"file\":\"../../x.gguf\",\"files\":[]}");
    put("deep/model.json", "{\"file\":{\"a\":[]},\"files\":5}");
    put("partial/b.gguf.partial", "GG");
    put("empty/.keep", "");
    g_autoptr(SundogLibraryEntry) good = find(library, "good");
    g_assert_false(good->damaged);
    g_assert_cmpstr(json_object_get_string_member(good->info, "title"), ==, "T");
    assert_damaged(library, "short", "4 bytes in place of 5");
    assert_damaged(library, "missing", "missing");
    assert_damaged(library, "cut", "line 1");
    assert_damaged(library, "list", "no object");
    assert_damaged(library, "up", "no main file");
    assert_damaged(library, "deep", "no main file");
    assert_damaged(library, "partial", "not complete");
    g_autoptr(GPtrArray) entries = sundog_library_list_models(library);
    g_assert_cmpuint(entries->len, ==, 8);
    for (guint i = 1; i < entries->len; i++)
        g_assert_cmpstr(((SundogLibraryEntry *)entries->pdata[i - 1])->name, <,
                        ((SundogLibraryEntry *)entries->pdata[i])->name);
    clear();
}

/* D18: what a person puts there is seen, also through links, each followed once. */
static void
test_by_hand(void)
{
    g_autoptr(SundogLibrary) library = open_library();
    put("My Model.Q8_0.gguf", "GGUF");
    put("folder/x.gguf", "GGUF");
    put("Big-00001-of-00002.gguf", "GGUF1");
    put("Big-00002-of-00002.gguf", "GGUF22");
    put("Tensors/config.json", "{}");
    put("Tensors/model.safetensors", "12345678");
    g_autofree char *elsewhere = g_build_filename(g_get_home_dir(), "elsewhere", NULL);
    g_autofree char *target = g_build_filename(elsewhere, "y.gguf", NULL);
    g_autofree char *link = g_build_filename(sundog_paths_get_models(), "linked", NULL);
    g_autofree char *loop = g_build_filename(sundog_paths_get_models(), "loop", NULL);
    g_mkdir_with_parents(elsewhere, 0700);
    g_assert_true(g_file_set_contents(target, "GGUF!", -1, NULL));
    g_assert_cmpint(symlink(elsewhere, link), ==, 0);
    g_assert_cmpint(symlink(loop, loop), ==, 0);
    g_autoptr(SundogLibraryEntry) file = find(library, "my-model.q8_0");
    g_assert_true(g_str_has_suffix(file->path, "/My Model.Q8_0.gguf"));
    g_autoptr(SundogLibraryEntry) folder = find(library, "folder");
    g_assert_false(folder->damaged);
    g_autoptr(SundogLibraryEntry) parts = find(library, "big");
    g_assert_true(g_str_has_suffix(parts->path, "/Big-00001-of-00002.gguf"));
    g_assert_cmpuint(parts->n_bytes, ==, 11);
    g_autoptr(GPtrArray) all = sundog_library_list_models(library);
    g_assert_cmpuint(all->len, ==, 5);
    uint64_t n_part_bytes = 0;
    g_assert_true(sundog_library_remove(library, parts, &n_part_bytes, NULL));
    g_assert_cmpuint(n_part_bytes, ==, 11);
    g_autoptr(SundogLibraryEntry) tensors = find(library, "Tensors");
    g_assert_false(tensors->damaged);
    g_assert_true(g_str_has_suffix(tensors->path, "/Tensors"));
    g_assert_cmpuint(tensors->n_bytes, ==, 10);
    g_autoptr(SundogLibraryEntry) by_path = find(library, tensors->path);
    g_assert_cmpstr(by_path->name, ==, "tensors");
    g_assert_cmpuint(by_path->n_bytes, ==, 10);
    g_assert_null(sundog_library_find_model(library, elsewhere, NULL));
    g_autoptr(SundogLibraryEntry) linked = find(library, "linked");
    g_assert_true(g_str_has_suffix(linked->path, "/linked/y.gguf"));
    /* A link goes as a link: what it points to stays. */
    uint64_t n_bytes = 9;
    g_assert_true(sundog_library_remove(library, linked, &n_bytes, NULL));
    g_assert_cmpuint(n_bytes, ==, 0);
    g_assert_true(g_file_test(target, G_FILE_TEST_EXISTS));
    g_assert_true(sundog_library_remove(library, file, &n_bytes, NULL));
    g_assert_cmpuint(n_bytes, ==, 4);
    g_assert_false(g_file_test(file->path, G_FILE_TEST_EXISTS));
    clear();
}

/* D18: a drive that is away is missing, not empty; with it, the models are back. */
static void
test_missing_folder(void)
{
    g_autoptr(SundogLibrary) library = open_library();
    put_model("good", "4");
    g_assert_null(sundog_library_dup_problem(library));
    g_autofree char *away = g_strconcat(sundog_paths_get_models(), "-away", NULL);
    g_assert_cmpint(g_rename(sundog_paths_get_models(), away), ==, 0);
    g_autofree char *problem = sundog_library_dup_problem(library);
    g_assert_nonnull(problem);
    g_assert_nonnull(strstr(problem, "models"));
    g_autoptr(GPtrArray) none = sundog_library_list_models(library);
    g_assert_cmpuint(none->len, ==, 0);
    g_autoptr(SundogLibrary) opened_meanwhile = open_library();
    g_assert_cmpint(g_rename(away, sundog_paths_get_models()), ==, 0);
    g_assert_null(sundog_library_dup_problem(library));
    g_autoptr(SundogLibraryEntry) good = find(library, "good");
    g_assert_false(good->damaged);
    clear();
}

/* D15, D22 */
static void
test_remove(void)
{
    g_autoptr(SundogLibrary) library = open_library();
    put_model("good", "4");
    put("good/more/deep/file", "12345678");
    put("cut/model.json", "{\"version\":1,\"na");
    uint64_t n_bytes = 0;
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogLibraryEntry) cut = find(library, "cut");
    g_assert_true(sundog_library_remove(library, cut, &n_bytes, &error));
    g_autoptr(SundogLibraryEntry) good = find(library, "good");
    g_autoptr(SundogPullLock) lock = sundog_pull_lock_take("good", NULL);
    g_assert_false(sundog_library_remove(library, good, &n_bytes, &error));
    g_assert_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_BUSY);
    g_clear_error(&error);
    g_clear_pointer(&lock, sundog_pull_lock_release);
    uint64_t expected = good->n_bytes;
    g_assert_true(sundog_library_remove(library, good, &n_bytes, &error));
    g_assert_cmpuint(n_bytes, ==, expected);
    g_autoptr(GPtrArray) none = sundog_library_list_models(library);
    g_assert_cmpuint(none->len, ==, 0);
    /* Only what lies in the library. */
    g_autofree char *outside = g_build_filename(g_get_home_dir(), "mine.gguf", NULL);
    g_assert_true(g_file_set_contents(outside, "GGUF", -1, NULL));
    g_autoptr(SundogLibraryEntry) foreign = find(library, outside);
    g_assert_false(sundog_library_remove(library, foreign, &n_bytes, &error));
    g_assert_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID);
    g_assert_true(g_file_test(outside, G_FILE_TEST_EXISTS));
}

static void
test_remove_read_only(void)
{
    if (!small_disk_mount(sundog_paths_get_models(), 1 << 20))
        return;
    g_autoptr(SundogLibrary) library = open_library();
    put_model("good", "4");
    g_autoptr(SundogLibraryEntry) good = find(library, "good");
    small_disk_set_read_only(sundog_paths_get_models(), true);
    g_autoptr(GError) error = NULL;
    uint64_t n_bytes = 0;
    g_assert_false(sundog_library_remove(library, good, &n_bytes, &error));
    g_test_message("%s", error->message);
    g_assert_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_IO);
    small_disk_set_read_only(sundog_paths_get_models(), false);
    g_clear_error(&error);
    g_assert_true(sundog_library_remove(library, good, &n_bytes, &error));
    small_disk_unmount(sundog_paths_get_models());
}

static void
test_not_found(void)
{
    g_autoptr(SundogLibrary) library = open_library();
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_library_find_model(library, "nothing", &error));
    g_assert_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND);
    g_clear_error(&error);
    put_model("near", "4");
    g_assert_null(sundog_library_find_model(library, "neer", &error));
    g_assert_nonnull(strstr(error->message, "near"));
    g_clear_error(&error);
    g_assert_null(sundog_library_find_model(library, "/nonexistent/x.gguf", &error));
    g_assert_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND);
    g_clear_error(&error);
    g_assert_null(sundog_library_find_core(library, "", NULL));
    g_assert_null(sundog_library_find_core(library, "nothing", &error));
    g_assert_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND);
    clear();
}

static void
test_names(void)
{
    const char *const good[] = {"a",      "smollm2-135m-instruct", "Q.4_1", "a:int8",
                                "a@host", "a:f32@sm_90a"};
    const char *const bad[] = {"",      ".",  "..",  "a/b", ":x", "a:",   "a@",   "a@h@i",
                               "a:b:c", ".a", "a b", "a\n", "ä",  "a:@h", "a:.b", "~"};
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
        g_assert_true(sundog_library_name_is_valid(good[i]));
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(sundog_library_name_is_valid(bad[i]));
    g_autofree char *long_name = g_strnfill(200, 'a');
    g_assert_false(sundog_library_name_is_valid(long_name));
    g_autoptr(SundogLibrary) library = open_library();
    g_autofree char *folder = sundog_library_dup_core_folder(library, "a:f32@host");
    g_autofree char *base = g_path_get_basename(folder);
    g_assert_cmpstr(base, ==, "a~f32@host");
}

/* Cores without a package in them are listed as damaged, and can be deleted. */
static void
test_damaged_cores(void)
{
    g_autoptr(SundogLibrary) library = open_library();
    g_autofree char *folder = sundog_library_dup_core_folder(library, "a:f32@host");
    g_mkdir_with_parents(folder, 0700);
    g_autofree char *manifest = g_build_filename(folder, "core.json", NULL);
    g_assert_true(g_file_set_contents(manifest, "{}", -1, NULL));
    const char *const names[] = {"a:f32@host", "a:f32", "a", "a@host"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(SundogLibraryEntry) entry = sundog_library_find_core(library, names[i], NULL);
        g_assert_nonnull(entry);
        g_assert_cmpstr(entry->name, ==, "a:f32@host");
        g_assert_true(entry->damaged);
    }
    g_autofree char *other = sundog_library_dup_core_folder(library, "a:int8@host");
    g_mkdir_with_parents(other, 0700);
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_library_find_core(library, "a", &error));
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, "2 cores"));
    g_autoptr(GPtrArray) entries = sundog_library_list_cores(library);
    g_assert_cmpuint(entries->len, ==, 2);
    for (guint i = 0; i < entries->len; i++)
        g_assert_true(sundog_library_remove(library, entries->pdata[i], NULL, NULL));
    g_assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
}

/* D19: nothing of value lies under the cache folder. */
static void
test_places(void)
{
    const char *cache = g_get_user_cache_dir();
    const char *const kept[] = {sundog_paths_get_models(), sundog_paths_get_cores(),
                                sundog_paths_get_keys(),   sundog_paths_get_config_file(),
                                sundog_paths_get_state(),  sundog_paths_get_server_file()};
    for (size_t i = 0; i < G_N_ELEMENTS(kept); i++)
        g_assert_false(g_str_has_prefix(kept[i], cache));
    struct stat status;
    g_assert_cmpint(stat(sundog_paths_get_models(), &status), ==, 0);
    g_assert_cmpint(status.st_mode & 0777, ==, 0700);
}

/* D17: models inside the program's own folder are refused, in a process with such a data folder. */
static void
test_inside_prefix(void)
{
    g_autofree char *prefix = sundog_paths_dup_install_prefix();
    g_autofree char *data = g_build_filename(prefix, "data-of-a-test", NULL);
    g_autoptr(GSubprocessLauncher) launcher =
        g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDERR_PIPE);
    g_subprocess_launcher_setenv(launcher, "XDG_DATA_HOME", data, true);
    g_autoptr(GSubprocess) child =
        g_subprocess_launcher_spawn(launcher, NULL, program, "--open", NULL);
    g_autofree char *errors = NULL;
    g_assert_true(g_subprocess_communicate_utf8(child, NULL, NULL, NULL, &errors, NULL));
    g_assert_cmpint(g_subprocess_get_exit_status(child), ==, 1);
    g_test_message("%s", errors);
    g_assert_nonnull(strstr(errors, "own folder"));
    g_assert_true(sundog_folder_remove(data, NULL, NULL));
}

int
main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 2 && strcmp(argv[1], "--open") == 0) {
        g_autoptr(GError) error = NULL;
        g_autoptr(SundogLibrary) library = sundog_library_open(&error);
        if (error)
            g_printerr("%s\n", error->message);
        return library ? 0 : 1;
    }
    small_disk_init();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/library/entries", test_entries);
    g_test_add_func("/library/by-hand", test_by_hand);
    g_test_add_func("/library/missing-folder", test_missing_folder);
    g_test_add_func("/library/remove", test_remove);
    g_test_add_func("/library/remove-read-only", test_remove_read_only);
    g_test_add_func("/library/not-found", test_not_found);
    g_test_add_func("/library/names", test_names);
    g_test_add_func("/library/damaged-cores", test_damaged_cores);
    g_test_add_func("/library/places", test_places);
    g_test_add_func("/library/inside-prefix", test_inside_prefix);
    return g_test_run();
}
