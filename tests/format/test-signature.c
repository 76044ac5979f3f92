/* The keyring: made once, closed to others, and every trusted key of it verifies. */

#include "engine/format/error.h"
#include "engine/format/signature.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    char *folder;
    char *key;
} Fixture;

static void
init(Fixture *fixture)
{
    g_autofree char *root = g_dir_make_tmp("keys-XXXXXX", NULL);
    fixture->folder = g_build_filename(root, "deep", "keys", NULL);
    fixture->key = g_build_filename(fixture->folder, "installation.key", NULL);
}

static void
clear(Fixture *fixture)
{
    g_autofree char *deep = g_path_get_dirname(fixture->folder);
    g_autofree char *root = g_path_get_dirname(deep);
    g_autoptr(GDir) dir = g_dir_open(fixture->folder, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(fixture->folder, name, NULL);
        g_remove(path);
    }
    g_assert_cmpint(g_rmdir(fixture->folder), ==, 0);
    g_assert_cmpint(g_rmdir(deep), ==, 0);
    g_assert_cmpint(g_rmdir(root), ==, 0);
    g_free(fixture->folder);
    g_free(fixture->key);
}

static SundogKeyring *
open_good(const Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    SundogKeyring *keyring = sundog_keyring_open(fixture->folder, &error);
    g_assert_no_error(error);
    return keyring;
}

static void
expect_error(const Fixture *fixture, int code, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_keyring_open(fixture->folder, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, code);
    if (strstr(error->message, text) == NULL)
        g_error("\"%s\" not in \"%s\"", text, error->message);
}

static void
test_made_once(void)
{
    Fixture fixture;
    init(&fixture);
    g_autoptr(SundogKeyring) first = open_good(&fixture);
    struct stat status;
    g_assert_cmpint(stat(fixture.key, &status), ==, 0);
    g_assert_cmpuint(status.st_mode & 07777, ==, 0600);
    g_assert_cmpint(stat(fixture.folder, &status), ==, 0);
    g_assert_cmpuint(status.st_mode & 07777, ==, 0700);

    g_autoptr(SundogKeyring) second = open_good(&fixture);
    uint8_t signature[SUNDOG_SIGNATURE_BYTES];
    sundog_keyring_sign(first, "text", 4, signature);
    g_assert_true(sundog_keyring_verify(second, "text", 4, signature));
    clear(&fixture);
}

static gpointer
open_and_sign(gpointer data)
{
    g_autoptr(SundogKeyring) keyring = open_good(data);
    uint8_t *signature = g_malloc(SUNDOG_SIGNATURE_BYTES);
    sundog_keyring_sign(keyring, "text", 4, signature);
    return signature;
}

static void
test_made_by_many(void)
{
    /* All that open an empty folder at once come out with one key. */
    enum { N_THREADS = 8 };
    Fixture fixture;
    GThread *threads[N_THREADS];
    init(&fixture);
    for (int i = 0; i < N_THREADS; i++)
        threads[i] = g_thread_new("open", open_and_sign, &fixture);
    g_autofree uint8_t *first = g_thread_join(threads[0]);
    for (int i = 1; i < N_THREADS; i++) {
        g_autofree uint8_t *signature = g_thread_join(threads[i]);
        g_assert_cmpmem(signature, SUNDOG_SIGNATURE_BYTES, first, SUNDOG_SIGNATURE_BYTES);
    }
    clear(&fixture);
}

static void
test_changed(void)
{
    Fixture fixture;
    init(&fixture);
    g_autoptr(SundogKeyring) keyring = open_good(&fixture);
    uint8_t signature[SUNDOG_SIGNATURE_BYTES];
    sundog_keyring_sign(keyring, "text", 4, signature);
    g_assert_false(sundog_keyring_verify(keyring, "texT", 4, signature));
    g_assert_false(sundog_keyring_verify(keyring, "text", 3, signature));
    for (size_t i = 0; i < SUNDOG_SIGNATURE_BYTES; i++) {
        signature[i] ^= 0x10;
        g_assert_false(sundog_keyring_verify(keyring, "text", 4, signature));
        signature[i] ^= 0x10;
    }
    g_assert_true(sundog_keyring_verify(keyring, "text", 4, signature));
    clear(&fixture);
}

static void
test_known_vector(void)
{
    /* RFC 8032, 7.1, test 2: the secret as the installation's key, so that the file's meaning is
     * the standard's and not only our own. */
    static const char secret[] =
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb\n";
    static const char expected[] =
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";
    Fixture fixture;
    init(&fixture);
    g_assert_cmpint(g_mkdir_with_parents(fixture.folder, 0700), ==, 0);
    g_assert_true(
        g_file_set_contents_full(fixture.key, secret, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    g_autoptr(SundogKeyring) keyring = open_good(&fixture);
    uint8_t signature[SUNDOG_SIGNATURE_BYTES];
    sundog_keyring_sign(keyring, "\x72", 1, signature);
    g_autoptr(GString) hex = g_string_new(NULL);
    for (size_t i = 0; i < SUNDOG_SIGNATURE_BYTES; i++)
        g_string_append_printf(hex, "%02x", signature[i]);
    g_assert_cmpstr(hex->str, ==, expected);
    clear(&fixture);
}

static void
test_publishers(void)
{
    /* The public half of RFC 8032's test 2 as a publisher's key. */
    static const char public[] = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    static const uint8_t signature[] = {
        0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8, 0x72, 0x0e, 0x82, 0x0b, 0x5f,
        0x64, 0x25, 0x40, 0xa2, 0xb2, 0x7b, 0x54, 0x16, 0x50, 0x3f, 0x8f, 0xb3, 0x76,
        0x22, 0x23, 0xeb, 0xdb, 0x69, 0xda, 0x08, 0x5a, 0xc1, 0xe4, 0x3e, 0x15, 0x99,
        0x6e, 0x45, 0x8f, 0x36, 0x13, 0xd0, 0xf1, 0x1d, 0x8c, 0x38, 0x7b, 0x2e, 0xae,
        0xb4, 0x30, 0x2a, 0xee, 0xb0, 0x0d, 0x29, 0x16, 0x12, 0xbb, 0x0c, 0x00};
    Fixture fixture;
    init(&fixture);
    g_autoptr(SundogKeyring) without = open_good(&fixture);
    g_assert_false(sundog_keyring_verify(without, "\x72", 1, signature));
    g_autofree char *path = g_build_filename(fixture.folder, "someone.pub", NULL);
    g_assert_true(g_file_set_contents_full(path, public, -1, G_FILE_SET_CONTENTS_NONE, 0644, NULL));
    g_autoptr(SundogKeyring) with = open_good(&fixture);
    g_assert_true(sundog_keyring_verify(with, "\x72", 1, signature));

    g_assert_cmpint(g_chmod(path, 0666), ==, 0);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_SIGNATURE, "someone.pub");
    g_assert_cmpint(g_chmod(path, 0644), ==, 0);
    g_assert_true(
        g_file_set_contents_full(path, "not hex", -1, G_FILE_SET_CONTENTS_NONE, 0644, NULL));
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "someone.pub is not 64 hexadecimal digits");
    clear(&fixture);
}

static void
test_bad_key_files(void)
{
    static const char *const texts[] = {
        "", "00", "zz017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c0",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c00",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c\n\n"};
    Fixture fixture;
    init(&fixture);
    sundog_keyring_free(open_good(&fixture));
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_assert_cmpint(g_unlink(fixture.key), ==, 0);
        g_assert_true(g_file_set_contents_full(fixture.key, texts[i], -1, G_FILE_SET_CONTENTS_NONE,
                                               0600, NULL));
        expect_error(&fixture, SUNDOG_FORMAT_ERROR_INVALID, "installation.key is not 64");
    }
    clear(&fixture);
}

static void
test_open_key_files(void)
{
    Fixture fixture;
    init(&fixture);
    sundog_keyring_free(open_good(&fixture));
    static const mode_t modes[] = {0644, 0640, 0604, 0660, 0610};
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_assert_cmpint(g_chmod(fixture.key, modes[i]), ==, 0);
        expect_error(&fixture, SUNDOG_FORMAT_ERROR_SIGNATURE, "installation.key is of user");
    }
    g_assert_cmpint(g_unlink(fixture.key), ==, 0);
    g_assert_cmpint(symlink("/dev/zero", fixture.key), ==, 0);
    expect_error(&fixture, SUNDOG_FORMAT_ERROR_IO, "installation.key");
    clear(&fixture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/signature/made-once", test_made_once);
    g_test_add_func("/signature/made-by-many", test_made_by_many);
    g_test_add_func("/signature/changed", test_changed);
    g_test_add_func("/signature/known-vector", test_known_vector);
    g_test_add_func("/signature/publishers", test_publishers);
    g_test_add_func("/signature/bad-key-files", test_bad_key_files);
    g_test_add_func("/signature/open-key-files", test_open_key_files);
    return g_test_run();
}
