/*
 * The keyring: a folder with
 *   installation.key   the seed of this installation's key pair, 64 hex digits and a line end, 0600
 *   NAME.pub           a trusted publisher's public key, 64 hex digits and a line end
 * All are read once, when it is opened.
 */

#include "engine/format/signature.h"

#include "engine/format/error.h"
#include "engine/format/file.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_FILE "installation.key"
#define PUBLIC_SUFFIX ".pub"
#define HEX_CHARS (2 * SUNDOG_PUBLIC_KEY_BYTES)

G_STATIC_ASSERT(SUNDOG_SIGNATURE_BYTES == crypto_sign_BYTES);
G_STATIC_ASSERT(SUNDOG_PUBLIC_KEY_BYTES == crypto_sign_PUBLICKEYBYTES);
G_STATIC_ASSERT(SUNDOG_PUBLIC_KEY_BYTES == crypto_sign_SEEDBYTES);

typedef struct {
    uint8_t bytes[SUNDOG_PUBLIC_KEY_BYTES];
} PublicKey;

struct SundogKeyring {
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    GArray *trusted; /* PublicKey, the installation's first */
};

/* A key must be this user's, a plain file, and closed to others: against reading where it is
 * secret, against writing always. */
static bool
check_owner(int fd, const char *path, mode_t forbidden, GError **error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return sundog_file_fail(error, "look at", path);
    if (S_ISREG(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & forbidden) == 0)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_SIGNATURE,
                "the key %s is of user %u with mode %04o, expected a file of user %u without %04o",
                path, (unsigned)status.st_uid, (unsigned)(status.st_mode & 07777),
                (unsigned)geteuid(), (unsigned)forbidden);
    return false;
}

static bool
read_hex(int fd, const char *path, uint8_t key[SUNDOG_PUBLIC_KEY_BYTES], GError **error)
{
    /* One byte more than a key and its line end shows a longer file. */
    char text[HEX_CHARS + 2];
    ssize_t n = read(fd, text, sizeof text);
    if (n < 0)
        return sundog_file_fail(error, "read", path);
    bool ended = n == HEX_CHARS || (n == HEX_CHARS + 1 && text[HEX_CHARS] == '\n');
    size_t n_bytes = 0;
    if (ended)
        sodium_hex2bin(key, SUNDOG_PUBLIC_KEY_BYTES, text, HEX_CHARS, NULL, &n_bytes, NULL);
    sodium_memzero(text, sizeof text);
    if (n_bytes == SUNDOG_PUBLIC_KEY_BYTES)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "the key %s is not %d hexadecimal digits and a line end: remove it, or put back "
                "the right one",
                path, HEX_CHARS);
    return false;
}

static bool
read_key(const char *path, mode_t forbidden, uint8_t key[SUNDOG_PUBLIC_KEY_BYTES], GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sundog_file_fail(error, "open", path);
    bool good = check_owner(fd, path, forbidden, error) && read_hex(fd, path, key, error);
    close(fd);
    return good;
}

/* Writes a new seed beside and links it to its name, which fails where another process was first:
 * then that one's key is as good. */
static bool
write_seed(int fd, const char *temporary, const char *path, GError **error)
{
    uint8_t seed[crypto_sign_SEEDBYTES];
    char text[HEX_CHARS + 1];
    randombytes_buf(seed, sizeof seed);
    sodium_bin2hex(text, sizeof text, seed, sizeof seed);
    text[HEX_CHARS] = '\n';
    bool written = write(fd, text, sizeof text) == (ssize_t)sizeof text && fsync(fd) == 0;
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(text, sizeof text);
    if (!written)
        return sundog_file_fail(error, "write", temporary);
    if (link(temporary, path) != 0 && errno != EEXIST)
        return sundog_file_fail(error, "make", path);
    return true;
}

static bool
make_key(const char *path, GError **error)
{
    g_autofree char *temporary = g_strconcat(path, ".XXXXXX", NULL);
    int fd = g_mkstemp_full(temporary, O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return sundog_file_fail(error, "make", temporary);
    bool made = write_seed(fd, temporary, path, error);
    close(fd);
    unlink(temporary);
    return made;
}

static bool
load_installation_key(SundogKeyring *keyring, const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, KEY_FILE, NULL);
    uint8_t seed[crypto_sign_SEEDBYTES];
    PublicKey key;
    if (!g_file_test(path, G_FILE_TEST_EXISTS) && !make_key(path, error))
        return false;
    if (!read_key(path, 077, seed, error))
        return false;
    crypto_sign_seed_keypair(key.bytes, keyring->secret, seed);
    sodium_memzero(seed, sizeof seed);
    g_array_append_val(keyring->trusted, key);
    return true;
}

static bool
load_public_keys(SundogKeyring *keyring, const char *folder, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, error);
    if (dir == NULL)
        return false;
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        if (!g_str_has_suffix(name, PUBLIC_SUFFIX))
            continue;
        g_autofree char *path = g_build_filename(folder, name, NULL);
        PublicKey key;
        if (!read_key(path, 022, key.bytes, error))
            return false;
        g_array_append_val(keyring->trusted, key);
    }
    return true;
}

SundogKeyring *
sundog_keyring_open(const char *folder, GError **error)
{
    g_return_val_if_fail(folder != NULL, NULL);
    if (sodium_init() < 0) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO,
                    "libsodium finds no source of randomness");
        return NULL;
    }
    if (g_mkdir_with_parents(folder, 0700) != 0) {
        sundog_file_fail(error, "make", folder);
        return NULL;
    }
    g_autoptr(SundogKeyring) keyring = g_new0(SundogKeyring, 1);
    keyring->trusted = g_array_new(FALSE, FALSE, sizeof(PublicKey));
    if (!load_installation_key(keyring, folder, error) || !load_public_keys(keyring, folder, error))
        return NULL;
    return g_steal_pointer(&keyring);
}

void
sundog_keyring_free(SundogKeyring *keyring)
{
    if (keyring == NULL)
        return;
    sodium_memzero(keyring->secret, sizeof keyring->secret);
    g_array_unref(keyring->trusted);
    g_free(keyring);
}

void
sundog_keyring_sign(const SundogKeyring *keyring, const void *data, size_t n_bytes,
                    uint8_t signature[SUNDOG_SIGNATURE_BYTES])
{
    crypto_sign_detached(signature, NULL, data, n_bytes, keyring->secret);
}

bool
sundog_keyring_verify(const SundogKeyring *keyring, const void *data, size_t n_bytes,
                      const uint8_t signature[SUNDOG_SIGNATURE_BYTES])
{
    for (guint i = 0; i < keyring->trusted->len; i++) {
        const PublicKey *key = &g_array_index(keyring->trusted, PublicKey, i);
        if (crypto_sign_verify_detached(signature, data, n_bytes, key->bytes) == 0)
            return true;
    }
    return false;
}
