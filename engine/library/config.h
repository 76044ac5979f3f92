#pragma once

/*
 * Settings of server and engine in config.json: one list of keys with types, defaults and meanings; a
 * schema version with migrations (the old file is kept beside). Written beside and renamed.
 */

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

#define SUNDOG_CONFIG_VERSION 1

/* X(NAME, "key", kind, default, lowest, highest, "meaning") with kind INTEGER, BOOLEAN, TEXT or SECRET:
 * a text that is shown only to who may read the file. */
#define SUNDOG_CONFIG_KEYS(X)                                                                     \
    X(PORT, "server.port", INTEGER, "7410", 0, 65535, "Port of the server on loopback")           \
    X(ADDRESS, "server.address", TEXT, "127.0.0.1", 0, 0,                                         \
      "Address the server listens on; any but loopback needs a key")                              \
    X(KEY, "server.key", SECRET, "", 0, 0, "API key that clients must send; empty for none")      \
    X(ORIGINS, "server.origins", TEXT, "", 0, 0, "Web origins that may use the server, by comma") \
    X(REQUEST_LOG, "server.request_log", BOOLEAN, "false", 0, 0,                                  \
      "Write a line of every request that ended, without its texts, to requests.jsonl")           \
    X(LOG_TEXTS, "server.log_texts", BOOLEAN, "false", 0, 0,                                      \
      "Write what was asked and answered into these lines too")                                   \
    X(DEFAULT_CORE, "server.core", TEXT, "", 0, 0, "Core that is loaded when the server starts")  \
    X(THREADS, "engine.threads", INTEGER, "0", 0, 1024, "Processor threads; 0 for all")           \
    X(CONTEXT, "engine.context", INTEGER, "0", 0, 16777216,                                       \
      "Longest context in tokens; 0 for what memory allows")                                      \
    X(MEMORY_BUDGET, "engine.memory_budget", INTEGER, "0", 0, INT64_MAX,                          \
      "Memory that all loaded cores together may take; 0 for four fifths of this computer's")     \
    X(KEEP_ALIVE, "engine.keep_alive", INTEGER, "-1", -1, 1000000000,                             \
      "Seconds that an unused core stays loaded; -1 until its memory is needed")                  \
    X(CACHE_BYTES, "engine.cache_bytes", INTEGER, "0", 0, INT64_MAX,                              \
      "Memory for keys and values; 0 for a quarter of what is free")                              \
    X(RECORD_BYTES, "engine.record_bytes", INTEGER, "1073741824", 0, INT64_MAX,                   \
      "Disk for keys and values of conversations, so that they go on at once after a restart; "   \
      "0 for none")                                                                               \
    X(GAP_MS, "engine.gap_ms", INTEGER, "50", 1, 10000,                                           \
      "Milliseconds between an answer's tokens while another's prompt is read")                   \
    X(DRAFT, "engine.draft", TEXT, "", 0, 0,                                                      \
      "Small cores that guess tokens ahead for large ones of the same vocabulary: CORE=SMALL by " \
      "comma, or SMALL for all")                                                                  \
    X(TOKEN, "library.token", SECRET, "", 0, 0,                                                   \
      "Access token for models whose makers ask for one; sent only to the host it is asked by")

typedef struct SundogConfig SundogConfig;

/* A missing file gives the defaults; a damaged one is an error that says where and keeps the file. */
SundogConfig *sundog_config_open(GError **error);
void sundog_config_free(SundogConfig *config);
int64_t sundog_config_get_integer(const SundogConfig *config, const char *key);
bool sundog_config_get_boolean(const SundogConfig *config, const char *key);
const char *sundog_config_get_text(const SundogConfig *config, const char *key); /* secrets too */
/* The small core that drafts for a core of that name, of a text as "engine.draft" has: an entry of its own,
 * or that for all. Owned by the caller; NULL where there is none. *is_own: it was named for this core. */
char *sundog_config_dup_draft(const char *text, const char *core, bool *is_own);
/* Checks the key and the value's range; saved at once. value NULL: back to the default. */
bool sundog_config_set(SundogConfig *config, const char *key, const char *value, GError **error);
/* [{"key", "value", "default", "meaning"}] of every key; owned by the caller. A secret's value is null,
 * and "is_set" says whether there is one. */
JsonNode *sundog_config_describe(const SundogConfig *config);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogConfig, sundog_config_free)
