#pragma once

/*
 * A core's own fields of core.json as structs, each number checked against the others. Within this
 * house; core.h says what the fields are. Owns nothing outside itself once parsed.
 */

#include "engine/core/core.h"

typedef struct {
    SundogCoreInfo info;
    SundogCoreCache cache;
    SundogShape bounds;       /* the manifest's "variables" */
    GStrv programs;           /* names */
    GArray *weights;          /* of SundogCoreWeight, in order of offset */
    GHashTable *weight_names; /* a weight's name to its index + 1 */
    bool has_template;
    GStringChunk *strings; /* owns all texts above */
} SundogCoreManifest;

/* Fills the manifest from core.json's root. A required feature that is not known here is refused by
 * its name. Clear it afterwards, also on failure. */
bool sundog_core_manifest_parse(SundogCoreManifest *manifest, JsonObject *root, GError **error);
void sundog_core_manifest_clear(SundogCoreManifest *manifest);
/* NULL where there is none of that name. */
const SundogCoreWeight *sundog_core_manifest_find_weight(const SundogCoreManifest *manifest,
                                                         const char *name);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SundogCoreManifest, sundog_core_manifest_clear)
