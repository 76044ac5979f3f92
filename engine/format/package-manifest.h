#pragma once

/* The manifest of a package as far as containers go: its members, with sizes and hashes. Immutable
 * once parsed. Private to the format house. */

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash a segment makes 17 MB for a core of a terabyte. */
#define SUNDOG_MANIFEST_MAX_BYTES (64u << 20)

typedef struct {
    char *path;
    uint64_t n_bytes;
    uint64_t segment_bytes;
    size_t n_segments;
    uint8_t *hashes; /* [n_segments, SUNDOG_HASH_BYTES] */
} SundogMember;

typedef struct {
    JsonNode *root;       /* an object */
    GPtrArray *members;   /* SundogMember, in the manifest's order */
    GHashTable *by_path;  /* path -> SundogMember */
    uint64_t total_bytes; /* of all members */
} SundogManifest;

/* Parses and checks; the text's signature is the caller's business. */
SundogManifest *sundog_manifest_parse(const char *text, size_t n_bytes, GError **error);
void sundog_manifest_free(SundogManifest *manifest);

void sundog_member_free(SundogMember *member);
/* Bytes of a segment: segment_bytes for all but the last. */
uint64_t sundog_member_get_segment_bytes(const SundogMember *member, size_t segment);
/* The "members" array for these; the caller owns it. */
JsonArray *sundog_members_dup_json(GPtrArray *members);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogManifest, sundog_manifest_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogMember, sundog_member_free)
