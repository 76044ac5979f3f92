#pragma once

/*
 * Ed25519 (RFC 8032, by libsodium) over a core's manifest. Each installation has one key pair of its
 * own in a file of mode 0600, made at first need; trusted publishers' public keys lie beside it.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define SUNDOG_SIGNATURE_BYTES 64
#define SUNDOG_PUBLIC_KEY_BYTES 32

typedef struct SundogKeyring SundogKeyring;

/* Opens the folder of keys, making it (0700) and the installation's key where missing. Only a key
 * file of this user with no access for others is taken. */
SundogKeyring *sundog_keyring_open(const char *folder, GError **error);
void sundog_keyring_free(SundogKeyring *keyring);

void sundog_keyring_sign(const SundogKeyring *keyring, const void *data, size_t n_bytes,
                         uint8_t signature[SUNDOG_SIGNATURE_BYTES]);
/* True if any trusted key (the installation's first) made the signature. */
bool sundog_keyring_verify(const SundogKeyring *keyring, const void *data, size_t n_bytes,
                           const uint8_t signature[SUNDOG_SIGNATURE_BYTES]);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogKeyring, sundog_keyring_free)
