#pragma once

/*
 * The catalogue of models that can be fetched, from data/catalogue.json:
 *   {"version": 1, "models": [{"name", "title", "maker", "family" (GGUF's name of the architecture),
 *     "licence", "purpose": [...], "n_parameters", "context_length", "description", "needs",
 *     "files": [{"name", "url", "bytes", "sha256"}], "sampling": {...}}]}
 * The first file is the main one; of a folder of safetensors config.json. "n_parameters", "needs",
 * "bytes", "sha256" and "sampling" may be missing; "needs" says what this version lacks to run the model.
 * Immutable after open.
 */

#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *name; /* the file's name on disk */
    const char *url;
    uint64_t n_bytes;   /* 0 where not known */
    const char *sha256; /* or NULL */
} SundogCatalogueFile;

typedef struct {
    const char *name;
    const char *title;
    const char *licence;
    const char *needs; /* what this version lacks to run it, or NULL */
    const SundogCatalogueFile *files;
    uint32_t n_files;
    JsonObject *json; /* the whole entry, borrowed */
} SundogCatalogueEntry;

typedef struct SundogCatalogue SundogCatalogue;

/* path NULL: the installed one. */
SundogCatalogue *sundog_catalogue_open(const char *path, GError **error);
void sundog_catalogue_free(SundogCatalogue *catalogue);
uint32_t sundog_catalogue_get_n_entries(const SundogCatalogue *catalogue);
const SundogCatalogueEntry *sundog_catalogue_get_entry(const SundogCatalogue *catalogue,
                                                       uint32_t index);
const SundogCatalogueEntry *sundog_catalogue_find(const SundogCatalogue *catalogue,
                                                  const char *name);
/* Bytes of all files; where the catalogue does not know them, about as many as so many parameters take in
 * the type of weights that the last file's name tells, and 0 where even that is not known. */
uint64_t sundog_catalogue_entry_get_bytes(const SundogCatalogueEntry *entry, bool *is_exact);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogCatalogue, sundog_catalogue_free)
