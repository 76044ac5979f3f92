/* Packages: the round trip, what damage is noticed, and what is never left behind or replaced. */

#include "engine/format/error.h"
#include "tests/format/package-fixture.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static SundogPackage *
open_good(const PackageFixture *fixture)
{
    g_autoptr(GError) error = NULL;
    SundogPackage *package = sundog_package_open(fixture->folder, fixture->keyring, &error);
    g_assert_no_error(error);
    return package;
}

static void
expect_open_error(const PackageFixture *fixture, int code, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_package_open(fixture->folder, fixture->keyring, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, code);
    if (strstr(error->message, text) == NULL)
        g_error("\"%s\" not in \"%s\"", text, error->message);
}

/* Flips one bit of a file in the package. */
static void
damage(const PackageFixture *fixture, const char *name, size_t position)
{
    g_autofree char *path = g_build_filename(fixture->folder, name, NULL);
    g_autofree char *data = NULL;
    size_t n_bytes;
    g_assert_true(g_file_get_contents(path, &data, &n_bytes, NULL));
    g_assert_cmpuint(position, <, n_bytes);
    data[position] ^= 1;
    g_assert_true(g_file_set_contents(path, data, (gssize)n_bytes, NULL));
}

static guint
count_entries(const char *path)
{
    guint n = 0;
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    g_assert_nonnull(dir);
    while (g_dir_read_name(dir) != NULL)
        n++;
    return n;
}

static void
expect_member(const SundogPackage *package, const char *path, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = sundog_package_dup_member(package, path, &error);
    g_assert_no_error(error);
    g_assert_cmpmem(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), text, strlen(text));
}

static void
test_round_trip(void)
{
    PackageFixture fixture;
    package_fixture_init(&fixture);
    package_fixture_write(&fixture, "tiny");
    g_autoptr(SundogPackage) package = open_good(&fixture);
    g_assert_cmpstr(json_object_get_string_member(sundog_package_get_manifest(package), "name"), ==,
                    "tiny");
    g_assert_cmpint(sundog_package_get_bytes(package), >, 9 << 20);
    expect_member(package, "text/template", "hello");
    expect_member(package, "text/empty", "");

    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) weights = sundog_package_dup_member(package, "weights/0", &error);
    g_assert_cmpuint(g_bytes_get_size(weights), ==, 9 << 20);
    g_assert_cmpuint((uintptr_t)g_bytes_get_data(weights, NULL) % SUNDOG_PACKAGE_ALIGNMENT, ==, 0);
    g_assert_null(sundog_package_dup_member(package, "weights/1", &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID);
    package_fixture_clear(&fixture);
}

static void
test_replace(void)
{
    PackageFixture fixture;
    package_fixture_init(&fixture);
    package_fixture_write(&fixture, "first");
    g_autoptr(SundogPackage) first = open_good(&fixture);
    package_fixture_write(&fixture, "second");
    g_autoptr(SundogPackage) second = open_good(&fixture);
    g_assert_cmpstr(json_object_get_string_member(sundog_package_get_manifest(second), "name"), ==,
                    "second");
    /* Nothing but the new package lies in its folder. */
    g_autofree char *cores = package_fixture_path(&fixture, "cores");
    g_assert_cmpuint(count_entries(cores), ==, 1);
    package_fixture_clear(&fixture);
}

static void
test_not_replaced(void)
{
    PackageFixture fixture;
    package_fixture_init(&fixture);
    g_autoptr(GError) error = NULL;
    g_autofree char *note = g_build_filename(fixture.folder, "diary.txt", NULL);
    g_assert_cmpint(g_mkdir_with_parents(fixture.folder, 0700), ==, 0);
    g_assert_true(g_file_set_contents(note, "dear", -1, NULL));
    g_assert_null(sundog_package_writer_new(fixture.folder, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID);
    g_assert_true(g_file_test(note, G_FILE_TEST_EXISTS));
    /* Nor a plain file. */
    g_clear_error(&error);
    g_assert_null(sundog_package_writer_new(note, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO);
    package_fixture_clear(&fixture);
}

static void
test_unfinished(void)
{
    PackageFixture fixture;
    package_fixture_init(&fixture);
    g_autofree char *cores = package_fixture_path(&fixture, "cores");
    g_autofree char *abandoned = g_strconcat(cores, "/.tiny.part-abc123", NULL);
    g_autofree char *inner = g_build_filename(abandoned, "weights", NULL);
    g_assert_cmpint(g_mkdir_with_parents(inner, 0700), ==, 0);

    SundogPackageWriter *one = sundog_package_writer_new(fixture.folder, NULL);
    SundogPackageWriter *two = sundog_package_writer_new(fixture.folder, NULL);
    g_assert_true(sundog_package_writer_begin(one, "a/b/c", NULL));
    g_assert_true(sundog_package_writer_append(one, "x", 1, NULL));
    /* The dead maker's folder went; the two living ones stay. */
    g_assert_false(g_file_test(abandoned, G_FILE_TEST_EXISTS));
    g_assert_cmpuint(count_entries(cores), ==, 2);
    sundog_package_writer_free(one);
    sundog_package_writer_free(two);
    g_assert_cmpuint(count_entries(cores), ==, 0);
    package_fixture_clear(&fixture);
}

static void
test_full_disk(void)
{
    /* A limit on the size of files stands in for the end of the disk. */
    PackageFixture fixture;
    package_fixture_init(&fixture);
    package_fixture_write(&fixture, "first");
    g_autofree uint8_t *block = g_malloc0(1 << 20);
    g_autoptr(GError) error = NULL;
    struct rlimit old, small;
    g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &old), ==, 0);
    small = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
    SundogPackageWriter *writer = sundog_package_writer_new(fixture.folder, NULL);
    g_assert_true(sundog_package_writer_begin(writer, "weights/0", NULL));
    g_assert_true(sundog_package_writer_append(writer, block, 1 << 20, NULL));
    g_assert_false(sundog_package_writer_append(writer, block, 1, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO);
    g_assert_nonnull(strstr(error->message, "weights/0"));
    sundog_package_writer_free(writer);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &old), ==, 0);
    /* The old core is as it was, and nothing lies beside it. */
    g_autoptr(SundogPackage) package = open_good(&fixture);
    g_autofree char *cores = package_fixture_path(&fixture, "cores");
    g_assert_cmpuint(count_entries(cores), ==, 1);
    package_fixture_clear(&fixture);
}

static void
test_killed(void)
{
    /* A maker killed in the middle leaves the old core whole; the next one takes its rest away. */
    PackageFixture fixture;
    package_fixture_init(&fixture);
    package_fixture_write(&fixture, "first");
    g_autofree char *cores = package_fixture_path(&fixture, "cores");
    pid_t child = fork();
    if (child == 0) {
        SundogPackageWriter *writer = sundog_package_writer_new(fixture.folder, NULL);
        if (writer == NULL || !sundog_package_writer_begin(writer, "weights/0", NULL) ||
            !sundog_package_writer_append(writer, "x", 1, NULL))
            _exit(1);
        raise(SIGKILL);
    }
    int status;
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFSIGNALED(status));
    g_assert_cmpuint(count_entries(cores), ==, 2);
    g_autoptr(SundogPackage) first = open_good(&fixture);
    package_fixture_write(&fixture, "second");
    g_assert_cmpuint(count_entries(cores), ==, 1);
    package_fixture_clear(&fixture);
}

static void
test_replaced_while_open(void)
{
    /* Who opened the old core keeps what it mapped; later it gets an error, never the new core's bytes. */
    PackageFixture fixture;
    package_fixture_init(&fixture);
    package_fixture_write(&fixture, "first");
    g_autoptr(SundogPackage) first = open_good(&fixture);
    g_autoptr(GBytes) before = sundog_package_dup_member(first, "weights/0", NULL);
    package_fixture_write(&fixture, "second");
    g_autoptr(GError) error = NULL;
    g_assert_cmpuint(g_bytes_get_size(before), ==, 9 << 20);
    g_assert_cmpint(((const uint8_t *)g_bytes_get_data(before, NULL))[1], ==, 13);
    g_assert_cmpint(sundog_package_open_member(first, "weights/0", &error), ==, -1);
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO);
    package_fixture_clear(&fixture);
}

static void
test_bad_paths(void)
{
    static const char *const paths[] = {
        "",      "/x",        "x/",     "../x",       "a/../x",      "a//b", ".",
        "..",    "a/.",       "C:\\x",  "a\\b",       "\\\\host\\x", "a b",  "core.json",
        "sign*", "signature", "a/b/..", "\xc3\xa4/x", "a\nb",
    };
    PackageFixture fixture;
    package_fixture_init(&fixture);
    g_autoptr(SundogPackageWriter) writer = sundog_package_writer_new(fixture.folder, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_false(sundog_package_writer_begin(writer, paths[i], &error));
        g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID);
    }
    g_autofree char *longest = g_strnfill(255, 'a');
    g_autofree char *too_long = g_strnfill(256, 'a');
    g_assert_false(sundog_package_writer_begin(writer, too_long, NULL));
    g_assert_true(sundog_package_writer_begin(writer, longest, NULL));
    g_assert_true(sundog_package_writer_end(writer, NULL));
    /* A second member of one name. */
    g_assert_false(sundog_package_writer_begin(writer, longest, NULL));
    package_fixture_clear(&fixture);
}

static void
test_signature(void)
{
    PackageFixture fixture;
    package_fixture_init(&fixture);
    package_fixture_write(&fixture, "tiny");
    damage(&fixture, "signature", 5);
    expect_open_error(&fixture, SUNDOG_FORMAT_ERROR_SIGNATURE, "not signed by a trusted key");
    damage(&fixture, "signature", 5);
    g_clear_pointer(&fixture.keyring, sundog_keyring_free);
    g_autofree char *others = package_fixture_path(&fixture, "other-keys");
    fixture.keyring = sundog_keyring_open(others, NULL);
    expect_open_error(&fixture, SUNDOG_FORMAT_ERROR_SIGNATURE, "not signed by a trusted key");

    g_autofree char *path = g_build_filename(fixture.folder, "signature", NULL);
    g_assert_cmpint(truncate(path, 63), ==, 0);
    expect_open_error(&fixture, SUNDOG_FORMAT_ERROR_SIGNATURE, "63 bytes, expected 64");
    g_assert_cmpint(g_unlink(path), ==, 0);
    expect_open_error(&fixture, SUNDOG_FORMAT_ERROR_IO, "cannot open signature");
    package_fixture_clear(&fixture);
}

static void
test_changed_manifest(void)
{
    PackageFixture fixture;
    package_fixture_init(&fixture);
    package_fixture_write(&fixture, "tiny");
    for (size_t position = 0; position < 200; position += 40) {
        damage(&fixture, "core.json", position);
        expect_open_error(&fixture, SUNDOG_FORMAT_ERROR_SIGNATURE, "not signed");
        damage(&fixture, "core.json", position);
    }
    g_autoptr(SundogPackage) package = open_good(&fixture);
    package_fixture_clear(&fixture);
}

static void
test_changed_member(void)
{
    PackageFixture fixture;
    package_fixture_init(&fixture);
    package_fixture_write(&fixture, "tiny");
    damage(&fixture, "weights/0", (8 << 20) + 3);
    damage(&fixture, "text/template", 0);
    g_autoptr(SundogPackage) package = open_good(&fixture);
    g_autoptr(GError) error = NULL;
    g_assert_false(sundog_package_verify(package, 2, NULL, NULL, NULL, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "weights/0: segment 1 has another hash\n"));
    g_assert_nonnull(strstr(error->message, "text/template: segment 0 has another hash"));

    g_autofree char *path = g_build_filename(fixture.folder, "weights/0", NULL);
    g_assert_cmpint(truncate(path, 1000), ==, 0);
    expect_open_error(&fixture, SUNDOG_FORMAT_ERROR_TRUNCATED,
                      "weights/0 has 1000 bytes, expected 9437184");
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(symlink("../core.json", path), ==, 0);
    expect_open_error(&fixture, SUNDOG_FORMAT_ERROR_IO, "cannot open weights/0");
    package_fixture_clear(&fixture);
}

static void
note_fraction(double fraction, void *data)
{
    double *last = data;
    g_assert_cmpfloat(fraction, >=, *last);
    g_assert_cmpfloat(fraction, <=, 1);
    *last = fraction;
}

static void
test_verify(void)
{
    PackageFixture fixture;
    package_fixture_init(&fixture);
    package_fixture_write(&fixture, "tiny");
    g_autoptr(SundogPackage) package = open_good(&fixture);
    g_autoptr(GError) error = NULL;
    double last = 0;
    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
        last = 0;
        sundog_package_verify(package, n_threads, note_fraction, &last, NULL, &error);
        g_assert_no_error(error);
        g_assert_cmpfloat(last, ==, 1);
    }
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    g_cancellable_cancel(cancellable);
    g_assert_false(sundog_package_verify(package, 2, NULL, NULL, cancellable, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    package_fixture_clear(&fixture);
}

static void
test_linked_folder(void)
{
    /* A core behind a link is replaced where it lies, and the link stays. */
    PackageFixture fixture;
    package_fixture_init(&fixture);
    package_fixture_write(&fixture, "first");
    g_autofree char *real = g_steal_pointer(&fixture.folder);
    fixture.folder = package_fixture_path(&fixture, "link");
    g_assert_cmpint(symlink(real, fixture.folder), ==, 0);
    package_fixture_write(&fixture, "second");
    g_assert_true(g_file_test(fixture.folder, G_FILE_TEST_IS_SYMLINK));
    g_autoptr(SundogPackage) package = sundog_package_open(real, fixture.keyring, NULL);
    g_assert_cmpstr(json_object_get_string_member(sundog_package_get_manifest(package), "name"), ==,
                    "second");
    package_fixture_clear(&fixture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/package/round-trip", test_round_trip);
    g_test_add_func("/package/replace", test_replace);
    g_test_add_func("/package/not-replaced", test_not_replaced);
    g_test_add_func("/package/unfinished", test_unfinished);
    g_test_add_func("/package/full-disk", test_full_disk);
    g_test_add_func("/package/killed", test_killed);
    g_test_add_func("/package/replaced-while-open", test_replaced_while_open);
    g_test_add_func("/package/bad-paths", test_bad_paths);
    g_test_add_func("/package/signature", test_signature);
    g_test_add_func("/package/changed-manifest", test_changed_manifest);
    g_test_add_func("/package/changed-member", test_changed_member);
    g_test_add_func("/package/verify", test_verify);
    g_test_add_func("/package/linked-folder", test_linked_folder);
    return g_test_run();
}
