/* `.core` files: an archive is refused and leaves nothing, or gives the very core that was signed. */

#include "engine/format/error.h"
#include "tests/format/package-fixture.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));

static PackageFixture fixture;
static char *file, *target;

static void
clear_fixture(void)
{
    package_fixture_clear(&fixture);
    g_free(file);
    g_free(target);
}

static void
init_fixture(void)
{
    package_fixture_init(&fixture);
    fixture.n_weight_bytes = 3000;
    package_fixture_write(&fixture, "tiny");
    file = package_fixture_path(&fixture, "tiny.core");
    target = package_fixture_path(&fixture, "installed/tiny");
    atexit(clear_fixture);
}

void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    g_autofree char *data = NULL;
    size_t n_bytes;
    init_fixture();
    g_assert_true(sundog_package_export(fixture.folder, file, NULL));
    g_assert_true(g_file_get_contents(file, &data, &n_bytes, NULL));
    add(data, n_bytes);
}

static bool
is_empty(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    return dir == NULL || g_dir_read_name(dir) == NULL;
}

/* What was installed verifies, and goes away again. */
static void
check_installed(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogPackage) package = sundog_package_open(target, fixture.keyring, &error);
    g_assert_no_error(error);
    sundog_package_verify(package, 1, NULL, NULL, NULL, &error);
    g_assert_no_error(error);
    package_fixture_remove(&fixture, "installed");
}

/* Without the syncing of GLib's own, which would be nearly all of the time. */
static void
write_file(const uint8_t *data, size_t n_bytes)
{
    FILE *stream = fopen(file, "wb");
    g_assert_nonnull(stream);
    g_assert_cmpuint(fwrite(data, 1, n_bytes, stream), ==, n_bytes);
    g_assert_cmpint(fclose(stream), ==, 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    g_autoptr(GError) error = NULL;
    if (file == NULL)
        init_fixture();
    g_autofree char *parent = g_path_get_dirname(target);
    write_file(data, n_bytes);
    if (sundog_package_import(file, target, fixture.keyring, &error)) {
        check_installed();
        return 0;
    }
    g_assert_nonnull(error);
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
    g_assert_true(is_empty(parent));
    return 0;
}
