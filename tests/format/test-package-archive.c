/*
 * `.core` files: the round trip, and archives that are damaged or hostile (reports A1 to A4). After
 * each refused one nothing lies in the target, beside it, or where the archive pointed.
 */

#include "engine/format/error.h"
#include "tests/format/package-fixture.h"

#include <archive.h>
#include <archive_entry.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    PackageFixture package;
    char *file;
    char *target;
    struct archive *archive; /* being written to the file */
} Fixture;

static void
init_sized(Fixture *fixture, size_t n_weight_bytes)
{
    package_fixture_init(&fixture->package);
    fixture->package.n_weight_bytes = n_weight_bytes;
    package_fixture_write(&fixture->package, "tiny");
    fixture->file = package_fixture_path(&fixture->package, "tiny.core");
    fixture->target = package_fixture_path(&fixture->package, "installed/tiny");
}

static void
init(Fixture *fixture)
{
    init_sized(fixture, 1 << 20);
}

static void
clear(Fixture *fixture)
{
    package_fixture_clear(&fixture->package);
    g_free(fixture->file);
    g_free(fixture->target);
}

static void
begin(Fixture *fixture, bool compress)
{
    fixture->archive = archive_write_new();
    archive_write_set_format_pax(fixture->archive);
    if (compress)
        g_assert_cmpint(archive_write_add_filter_zstd(fixture->archive), ==, ARCHIVE_OK);
    g_assert_cmpint(archive_write_open_filename(fixture->archive, fixture->file), ==, ARCHIVE_OK);
}

static void
add(Fixture *fixture, const char *path, unsigned type, const char *link, const void *data,
    size_t n_bytes)
{
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, path);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, (la_int64_t)n_bytes);
    if (type == 0)
        archive_entry_set_hardlink(entry, link);
    else
        archive_entry_set_filetype(entry, type);
    if (type == AE_IFLNK)
        archive_entry_set_symlink(entry, link);
    g_assert_cmpint(archive_write_header(fixture->archive, entry), ==, ARCHIVE_OK);
    if (n_bytes > 0)
        g_assert_cmpint(archive_write_data(fixture->archive, data, n_bytes), ==, n_bytes);
    archive_entry_free(entry);
}

/* Adds a file of the good package. */
static void
add_own(Fixture *fixture, const char *name)
{
    g_autofree char *path = g_build_filename(fixture->package.folder, name, NULL);
    g_autofree char *data = NULL;
    size_t n_bytes;
    g_assert_true(g_file_get_contents(path, &data, &n_bytes, NULL));
    add(fixture, name, AE_IFREG, NULL, data, n_bytes);
}

static void
begin_signed(Fixture *fixture, bool compress)
{
    begin(fixture, compress);
    add_own(fixture, "core.json");
    add_own(fixture, "signature");
}

static void
end(Fixture *fixture)
{
    g_assert_cmpint(archive_write_close(fixture->archive), ==, ARCHIVE_OK);
    archive_write_free(fixture->archive);
}

static bool
is_empty(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    return dir == NULL || g_dir_read_name(dir) == NULL;
}

static void
expect_error(Fixture *fixture, int code, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *parent = g_path_get_dirname(fixture->target);
    clock_t begin = clock();
    g_assert_false(
        sundog_package_import(fixture->file, fixture->target, fixture->package.keyring, &error));
    g_assert_cmpint(clock() - begin, <, CLOCKS_PER_SEC);
    g_assert_error(error, SUNDOG_FORMAT_ERROR, code);
    if (strstr(error->message, text) == NULL)
        g_error("\"%s\" not in \"%s\"", text, error->message);
    g_assert_true(is_empty(parent));
}

static void
expect_good(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    sundog_package_import(fixture->file, fixture->target, fixture->package.keyring, &error);
    g_assert_no_error(error);
    g_autoptr(SundogPackage) package =
        sundog_package_open(fixture->target, fixture->package.keyring, &error);
    g_assert_no_error(error);
    sundog_package_verify(package, 1, NULL, NULL, NULL, &error);
    g_assert_no_error(error);
}

static void export(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    sundog_package_export(fixture->package.folder, fixture->file, &error);
    g_assert_no_error(error);
}

static void
test_round_trip(void)
{
    Fixture fixture;
    init_sized(&fixture, 9 << 20); /* more than a segment */
    export(&fixture);
    expect_good(&fixture);
    expect_good(&fixture); /* again, over the old one */
    /* Packed again, it is the same file: nothing in it depends on when or where. */
    g_autofree char *first = NULL, *second = NULL;
    size_t n_first, n_second;
    g_assert_true(g_file_get_contents(fixture.file, &first, &n_first, NULL));
    g_assert_true(sundog_package_export(fixture.target, fixture.file, NULL));
    g_assert_true(g_file_get_contents(fixture.file, &second, &n_second, NULL));
    g_assert_cmpmem(first, n_first, second, n_second);
    clear(&fixture);
}

static void
test_compressed(void)
{
    Fixture fixture;
    init(&fixture);
    begin_signed(&fixture, true);
    add_own(&fixture, "text/template"); /* members in another order */
    add_own(&fixture, "weights/0");
    add_own(&fixture, "text/empty");
    end(&fixture);
    expect_good(&fixture);
    clear(&fixture);
}

static void
test_damaged_export(void)
{
    Fixture fixture;
    init(&fixture);
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fixture.package.folder, "text/template", NULL);
    g_assert_true(g_file_set_contents(path, "jello", 5, NULL));
    g_assert_false(sundog_package_export(fixture.package.folder, fixture.file, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "text/template"));
    g_assert_false(g_file_test(fixture.file, G_FILE_TEST_EXISTS));
    clear(&fixture);
}

static void
test_names(void)
{
    static const char *const names[] = {
        "../../x",   "/x",          "C:\\x",      "a/../../x", "a\\..\\..\\x", "\\\\host\\share\\x",
        "./x",       "weights/./0", "weights//0", "text",      "..",           "/etc/passwd",
        "weights/1", "signature2",  "Weights/0",  "",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        Fixture fixture;
        init(&fixture);
        begin_signed(&fixture, false);
        add(&fixture, names[i][0] != '\0' ? names[i] : " ", AE_IFREG, NULL, "pwn", 3);
        end(&fixture);
        expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "which the manifest does not name");
        g_autofree char *escaped = package_fixture_path(&fixture.package, "x");
        g_assert_false(g_file_test(escaped, G_FILE_TEST_EXISTS));
        clear(&fixture);
    }
}

/* A name with a NUL and more behind it, in an extended header, is cut by the library: what is left
 * must then be a member's own name with that member's own bytes. */
static void
test_nul_name(void)
{
    Fixture fixture;
    init(&fixture);
    begin_signed(&fixture, false);
    static const char long_name[] = "text/template/01234567890123456789012345678901234567890123456"
                                    "7890123456789012345678901234567890123456789012345678901234567"
                                    "8901234567890123456789012345678901234567890123456789/x";
    add(&fixture, long_name, AE_IFREG, NULL, "pwn", 3);
    end(&fixture);
    g_autofree char *data = NULL;
    size_t n_bytes;
    g_assert_true(g_file_get_contents(fixture.file, &data, &n_bytes, NULL));
    char *name = memmem(data, n_bytes, "path=text/template/", 19);
    g_assert_nonnull(name);
    name[5 + strlen("text/template")] = '\0';
    g_assert_true(g_file_set_contents(fixture.file, data, (gssize)n_bytes, NULL));
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "");
    clear(&fixture);
}

static void
test_kinds(void)
{
    static const struct {
        unsigned type; /* 0: a hard link */
        const char *link;
        const char *text;
    } cases[] = {
        {AE_IFLNK, "/tmp", "is a link"},           {AE_IFLNK, "../../x", "is a link"},
        {0, "/etc/passwd", "is a link"},           {0, "core.json", "is a link"},
        {AE_IFDIR, NULL, "is not a regular file"}, {AE_IFIFO, NULL, "is not a regular file"},
        {AE_IFCHR, NULL, "is not a regular file"}, {AE_IFBLK, NULL, "is not a regular file"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Fixture fixture;
        init(&fixture);
        begin_signed(&fixture, false);
        /* Under a member's name, so that only the kind is wrong. */
        add(&fixture, "text/template", cases[i].type, cases[i].link, NULL, 0);
        end(&fixture);
        expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, cases[i].text);
        clear(&fixture);
    }
}

static void
test_link_then_write(void)
{
    /* "weights" as a link out, then a member through it. */
    Fixture fixture;
    init(&fixture);
    begin_signed(&fixture, false);
    add(&fixture, "weights", AE_IFLNK, fixture.package.root, NULL, 0);
    add_own(&fixture, "weights/0");
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "is a link");
    g_autofree char *outside = package_fixture_path(&fixture.package, "0");
    g_assert_false(g_file_test(outside, G_FILE_TEST_EXISTS));
    clear(&fixture);
}

static void
test_order(void)
{
    Fixture fixture;
    init(&fixture);
    begin(&fixture, false);
    add_own(&fixture, "signature");
    add_own(&fixture, "core.json");
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "expected \"core.json\"");
    begin(&fixture, false);
    add_own(&fixture, "core.json");
    add_own(&fixture, "text/template");
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "expected \"signature\"");
    begin(&fixture, false);
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "");
    begin_signed(&fixture, false);
    add_own(&fixture, "weights/0");
    add_own(&fixture, "text/template");
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_TRUNCATED, "text/empty is missing");
    begin_signed(&fixture, false);
    add_own(&fixture, "text/template");
    add_own(&fixture, "text/template");
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "stands twice");
    begin_signed(&fixture, false);
    add_own(&fixture, "core.json");
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "does not name");
    clear(&fixture);
}

static void
test_signature(void)
{
    Fixture fixture;
    init(&fixture);
    begin(&fixture, false);
    add_own(&fixture, "core.json");
    static const uint8_t zeros[64];
    add(&fixture, "signature", AE_IFREG, NULL, zeros, 64);
    /* Never looked at: an entry that would be refused with another error. */
    add(&fixture, "../x", AE_IFREG, NULL, "pwn", 3);
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_SIGNATURE, "not signed by a trusted key");

    export(&fixture);
    sundog_keyring_free(fixture.package.keyring);
    g_autofree char *others = package_fixture_path(&fixture.package, "other-keys");
    fixture.package.keyring = sundog_keyring_open(others, NULL);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_SIGNATURE, "not signed by a trusted key");
    clear(&fixture);
}

static void
test_bombs(void)
{
    g_autofree uint8_t *zeros = g_malloc0(100 << 20);
    Fixture fixture;
    init(&fixture);
    begin(&fixture, true);
    add(&fixture, "core.json", AE_IFREG, NULL, zeros, 100 << 20);
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "104857600 bytes, expected at most");
    begin(&fixture, true);
    add_own(&fixture, "core.json");
    add(&fixture, "signature", AE_IFREG, NULL, zeros, 1 << 20);
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "1048576 bytes, expected at most 64");
    begin_signed(&fixture, true);
    add(&fixture, "text/template", AE_IFREG, NULL, zeros, 100 << 20);
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "104857600 bytes, expected 5");
    begin_signed(&fixture, true);
    add(&fixture, "weights/0", AE_IFREG, NULL, zeros, 1 << 20);
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "weights/0 is damaged: segment 0");
    clear(&fixture);
}

static void
test_window(void)
{
    /* A frame's head that asks for 2^31 bytes: magic, a descriptor with nothing set, the window. */
    static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, (31 - 10) << 3, 1, 0, 0, 0};
    Fixture fixture;
    init(&fixture);
    g_assert_true(g_file_set_contents(fixture.file, (const char *)frame, sizeof frame, NULL));
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "a window of 2^31 bytes");
    clear(&fixture);
}

static void
test_compressed_twice(void)
{
    Fixture fixture;
    init(&fixture);
    fixture.archive = archive_write_new();
    archive_write_set_format_pax(fixture.archive);
    g_assert_cmpint(archive_write_add_filter_zstd(fixture.archive), ==, ARCHIVE_OK);
    g_assert_cmpint(archive_write_add_filter_zstd(fixture.archive), ==, ARCHIVE_OK);
    g_assert_cmpint(archive_write_open_filename(fixture.archive, fixture.file), ==, ARCHIVE_OK);
    add_own(&fixture, "core.json");
    add_own(&fixture, "signature");
    end(&fixture);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "compressed twice");
    clear(&fixture);
}

static void
test_truncated(void)
{
    Fixture fixture;
    init(&fixture);
    export(&fixture);
    struct stat status;
    g_assert_cmpint(stat(fixture.file, &status), ==, 0);
    static const double parts[] = {0.9, 0.5, 0.001, 0.0001, 0};
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        g_assert_cmpint(truncate(fixture.file, (off_t)((double)status.st_size * parts[i])), ==, 0);
        expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "tiny.core: ");
    }
    clear(&fixture);
}

static void
test_flipped(void)
{
    /* A bit flipped anywhere gives an error or, in the padding between files, the very same core. */
    Fixture fixture;
    init(&fixture);
    export(&fixture);
    g_autofree char *data = NULL;
    size_t n_bytes;
    unsigned n_refused = 0;
    g_assert_true(g_file_get_contents(fixture.file, &data, &n_bytes, NULL));
    for (size_t position = 0; position < n_bytes; position += n_bytes / 13) {
        g_autoptr(GError) error = NULL;
        data[position] ^= 4;
        g_assert_true(g_file_set_contents(fixture.file, data, (gssize)n_bytes, NULL));
        if (!sundog_package_import(fixture.file, fixture.target, fixture.package.keyring, &error))
            n_refused++;
        else
            expect_good(&fixture);
        data[position] ^= 4;
    }
    g_assert_cmpuint(n_refused, >=, 12);
    clear(&fixture);
}

static void
test_kept_target(void)
{
    /* A refused archive leaves the installed core as it was. */
    Fixture fixture;
    init(&fixture);
    export(&fixture);
    expect_good(&fixture);
    g_assert_cmpint(truncate(fixture.file, 1 << 19), ==, 0);
    g_assert_false(
        sundog_package_import(fixture.file, fixture.target, fixture.package.keyring, NULL));
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogPackage) package =
        sundog_package_open(fixture.target, fixture.package.keyring, &error);
    g_assert_no_error(error);
    clear(&fixture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/package-archive/round-trip", test_round_trip);
    g_test_add_func("/package-archive/compressed", test_compressed);
    g_test_add_func("/package-archive/damaged-export", test_damaged_export);
    g_test_add_func("/package-archive/names", test_names);
    g_test_add_func("/package-archive/nul-name", test_nul_name);
    g_test_add_func("/package-archive/kinds", test_kinds);
    g_test_add_func("/package-archive/link-then-write", test_link_then_write);
    g_test_add_func("/package-archive/order", test_order);
    g_test_add_func("/package-archive/signature", test_signature);
    g_test_add_func("/package-archive/bombs", test_bombs);
    g_test_add_func("/package-archive/window", test_window);
    g_test_add_func("/package-archive/compressed-twice", test_compressed_twice);
    g_test_add_func("/package-archive/truncated", test_truncated);
    g_test_add_func("/package-archive/flipped", test_flipped);
    g_test_add_func("/package-archive/kept-target", test_kept_target);
    return g_test_run();
}
