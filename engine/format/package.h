#pragma once

/*
 * A core package: a folder with `core.json` (the manifest), its members, and `signature`; or the same
 * as a `.core` file (tar, through libarchive) when it travels. This module knows containers, names,
 * sizes, hashes and the signature; what members mean is their own houses' business.
 *
 * The manifest's members: [{"path", "bytes", "segment_bytes", "hashes": [BLAKE2b-256 hex, one a
 * segment]}]. Paths are relative, of letters, digits, '.', '_', '-' and '/', without "." or "..".
 *
 * Writing: new, add members, finish (manifest and signature last, then one rename of the folder).
 * Reading: open, then get members by exact name. Immutable after open; safe to share between threads.
 */

#include "engine/format/signature.h"
#include <json-glib/json-glib.h>

#define SUNDOG_PACKAGE_FORMAT 0
#define SUNDOG_PACKAGE_ALIGNMENT 4096 /* of a member's mapping */

typedef struct SundogPackage SundogPackage;
typedef struct SundogPackageWriter SundogPackageWriter;

/* Opens an installed folder: bounded manifest, signature by a trusted key, format number, sizes of
 * all members as the manifest says. Hashes are not read here: see sundog_package_verify(). */
SundogPackage *sundog_package_open(const char *folder, const SundogKeyring *keyring,
                                   GError **error);
void sundog_package_free(SundogPackage *package);
const char *sundog_package_get_path(const SundogPackage *package);
/* The manifest's root object, borrowed. */
JsonObject *sundog_package_get_manifest(const SundogPackage *package);
/* Bytes of all members and the manifest on disk. */
uint64_t sundog_package_get_bytes(const SundogPackage *package);
/* Maps a member read-only; NULL and an error where the manifest does not name it. */
GBytes *sundog_package_dup_member(const SundogPackage *package, const char *path, GError **error);
/* Opens a member for reading at any place, through no link, in the folder that was opened, even if
 * another has taken its name since; -1 and an error as above. The caller closes it. */
int sundog_package_open_member(const SundogPackage *package, const char *path, GError **error);
/* Reads every member and compares all hashes, on n_threads (at least 1); says all that is wrong at
 * once. Progress is called on the calling thread, some twenty times a second, and may be NULL. A
 * cancelled verification fails with G_IO_ERROR_CANCELLED. */
bool sundog_package_verify(const SundogPackage *package, unsigned n_threads,
                           void (*progress)(double fraction, void *data), void *data,
                           GCancellable *cancellable, GError **error);

/* Starts a hidden folder beside `folder`, ".NAME.part-XXXXXX"; nothing is seen in its place until
 * finish. Removes such folders of makers that died. Fails where `folder` exists and is neither a
 * package nor empty, since finishing would replace what is in it. */
SundogPackageWriter *sundog_package_writer_new(const char *folder, GError **error);
/* Opens a member for appending; one at a time, hashed while it is written. */
bool sundog_package_writer_begin(SundogPackageWriter *writer, const char *path, GError **error);
bool sundog_package_writer_append(SundogPackageWriter *writer, const void *data, size_t n_bytes,
                                  GError **error);
/* Zeros as a hole in the file, which takes no room on disk; only as the first of a member. */
bool sundog_package_writer_append_hole(SundogPackageWriter *writer, uint64_t n_bytes,
                                       GError **error);
bool sundog_package_writer_end(SundogPackageWriter *writer, GError **error);
/* Adds "format" and "members" to the manifest, signs, syncs and renames; replaces an old folder
 * in one exchange. The writer is done after it, also on failure. */
bool sundog_package_writer_finish(SundogPackageWriter *writer, JsonObject *manifest,
                                  const SundogKeyring *keyring, GError **error);
/* Frees; an unfinished folder is removed. */
void sundog_package_writer_free(SundogPackageWriter *writer);

/* Packs an installed folder into a `.core` file, replacing an old one, and the reverse. Packing fails
 * where a hash is not the manifest's. Unpacking takes plain and zstd-compressed tar files and members
 * by exact name from the signed manifest (which stands first, the signature second); anything else
 * in the archive is an error. It follows no link, is capped by the manifest's sizes, and checks every
 * hash before the rename. */
bool sundog_package_export(const char *folder, const char *file, GError **error);
bool sundog_package_import(const char *file, const char *folder, const SundogKeyring *keyring,
                           GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogPackage, sundog_package_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogPackageWriter, sundog_package_writer_free)
