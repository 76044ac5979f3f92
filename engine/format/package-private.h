#pragma once

/* What the files of the package module share. Private to the format house. */

#include "engine/format/package-manifest.h"
#include "engine/format/package.h"

struct SundogPackage {
    char *path;
    int root; /* the open folder, so that a rename meanwhile does not change what is read */
    GBytes *manifest_text;
    uint8_t signature[SUNDOG_SIGNATURE_BYTES];
    SundogManifest *manifest;
};

/* As sundog_package_open(), but without a keyring no signature is asked for. */
SundogPackage *sundog_package_open_unchecked(const char *folder, GError **error);

/* The folder's manifest is written as it stands here, with its signature. */
bool sundog_package_write_manifest(int root, const void *text, size_t n_bytes,
                                   const uint8_t signature[SUNDOG_SIGNATURE_BYTES], GError **error);
