#include "tests/format/package-fixture.h"

#include <glib/gstdio.h>

void
package_fixture_init(PackageFixture *fixture)
{
    fixture->root = g_dir_make_tmp("package-XXXXXX", NULL);
    g_assert_nonnull(fixture->root);
    fixture->folder = package_fixture_path(fixture, "cores/tiny");
    g_autofree char *keys = package_fixture_path(fixture, "keys");
    g_autoptr(GError) error = NULL;
    fixture->keyring = sundog_keyring_open(keys, &error);
    g_assert_no_error(error);
    fixture->n_weight_bytes = 9 << 20;
}

static void
remove_tree(const char *path)
{
    g_autoptr(GDir) dir =
        g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        remove_tree(child);
    }
    g_remove(path);
}

void
package_fixture_clear(PackageFixture *fixture)
{
    remove_tree(fixture->root);
    sundog_keyring_free(fixture->keyring);
    g_free(fixture->folder);
    g_free(fixture->root);
}

char *
package_fixture_path(const PackageFixture *fixture, const char *name)
{
    return g_build_filename(fixture->root, name, NULL);
}

static void
write_weights(SundogPackageWriter *writer, size_t n_bytes)
{
    g_autofree uint8_t *pattern = g_malloc(n_bytes);
    for (size_t i = 0; i < n_bytes; i++)
        pattern[i] = (uint8_t)((i >> 20) * 7 + i * 13 + (i >> 8));
    /* In pieces that do not divide a segment. */
    for (size_t i = 0; i < n_bytes; i += 1000000)
        g_assert_true(
            sundog_package_writer_append(writer, pattern + i, MIN(1000000, n_bytes - i), NULL));
}

void
package_fixture_remove(const PackageFixture *fixture, const char *name)
{
    g_autofree char *path = package_fixture_path(fixture, name);
    remove_tree(path);
}

void
package_fixture_write(PackageFixture *fixture, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogPackageWriter) writer = sundog_package_writer_new(fixture->folder, &error);
    g_assert_no_error(error);
    g_assert_true(sundog_package_writer_begin(writer, "weights/0", NULL));
    write_weights(writer, fixture->n_weight_bytes);
    g_assert_true(sundog_package_writer_end(writer, NULL));
    g_assert_true(sundog_package_writer_begin(writer, "text/empty", NULL));
    g_assert_true(sundog_package_writer_end(writer, NULL));
    g_assert_true(sundog_package_writer_begin(writer, "text/template", NULL));
    g_assert_true(sundog_package_writer_append(writer, "hel", 3, NULL));
    g_assert_true(sundog_package_writer_append(writer, "lo", 2, NULL));
    g_assert_true(sundog_package_writer_end(writer, NULL));
    g_autoptr(JsonObject) manifest = json_object_new();
    json_object_set_string_member(manifest, "name", name);
    sundog_package_writer_finish(writer, manifest, fixture->keyring, &error);
    g_assert_no_error(error);
}
