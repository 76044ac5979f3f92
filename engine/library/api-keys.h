#pragma once

/*
 * The keys that clients of the server may have beside the owner's own (the setting server.key), each
 * with a name and limits, in api-keys.json (mode 0600):
 *     {"version": 1, "keys": [{"name", "hash", "created", "requests_per_minute", "tokens_per_minute",
 *      "concurrent_requests", "models": [NAME, …]}]}
 * A key is 256 random bits that nobody guesses, so its SHA-256 is all that is kept of it; it is shown
 * once, when it is made. Several processes may change the file: each change reads it again under a lock.
 *
 * Open, find, free; one thread at a time.
 */

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char *name;
    char *hash;    /* SHA-256 in hex */
    char *created; /* RFC 3339 */
    /* 0: without a bound. */
    int64_t requests_per_minute;
    int64_t tokens_per_minute; /* of prompts and answers */
    int64_t concurrent_requests;
    char **models; /* NULL-terminated; empty: all */
} SundogApiKey;

/* The same key in all that refer to it. */
SundogApiKey *sundog_api_key_ref(SundogApiKey *key);
void sundog_api_key_unref(SundogApiKey *key);
bool sundog_api_key_allows_model(const SundogApiKey *key, const char *model);
/* Name, age, limits and models, as the file and `key list --json` tell them; owned by the caller. */
JsonObject *sundog_api_key_describe(const SundogApiKey *key);

typedef struct SundogApiKeys SundogApiKeys;

/* A missing file holds no keys; a damaged one is an error that names it, and is kept. */
SundogApiKeys *sundog_api_keys_open(GError **error);
void sundog_api_keys_free(SundogApiKeys *keys);
/* SundogApiKey by their age; borrowed. */
const GPtrArray *sundog_api_keys_get_all(const SundogApiKeys *keys);
/* The one that this text is, borrowed; NULL: none. */
SundogApiKey *sundog_api_keys_find(const SundogApiKeys *keys, const char *secret);
/* Whether the file has changed since it was read; costs one system call. */
bool sundog_api_keys_is_stale(const SundogApiKeys *keys);

/* Makes a key of this name with these limits (hash and created are not read) and writes the file. The
 * key's text, owned by the caller, which is kept nowhere; NULL and the error where the name is taken or
 * no name. */
char *sundog_api_keys_add(const SundogApiKey *limits, GError **error);
/* False with the error where there is none of this name. */
bool sundog_api_keys_remove(const char *name, GError **error);
/* A new text for a key, owned by the caller; NULL and the error where there is no randomness. */
char *sundog_api_keys_dup_random(GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogApiKey, sundog_api_key_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogApiKeys, sundog_api_keys_free)
