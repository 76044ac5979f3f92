#pragma once

/*
 * What a pull fetches: an entry of the catalogue, a GGUF file (with the other parts of a model in several)
 * by its URL, or a repository of safetensors by the URL of its page or folder. Of a repository the files
 * with fixed names are known at once, its shards and modules when those that name them are here.
 */

#include "engine/library/pull.h"

typedef struct {
    char *name;
    char *url;
    char *sha256;     /* NULL until known */
    uint64_t n_bytes; /* 0 until known */
    bool is_optional; /* may be missing at the host */
} SundogPullFile;

typedef struct {
    char *name;        /* in the library */
    JsonObject *entry; /* of the catalogue, or NULL */
    GArray *files;     /* of SundogPullFile */
    char *base;        /* of a repository whose shards are not known yet, ends in '/'; else NULL */
} SundogPullSource;

/* `name` is the library's, or NULL: from the source's text. Clear it afterwards, also on failure. */
bool sundog_pull_source_init(SundogPullSource *source, const char *text, const char *name,
                             const SundogCatalogue *catalogue, GError **error);
void sundog_pull_source_clear(SundogPullSource *source);
/* What a repository has beside the files with fixed names, when all of these stand in the folder: a
 * tokenizer of another kind, files of modules in folders of their own, the safetensors. */
bool sundog_pull_source_add_rest(SundogPullSource *source, const char *folder, GError **error);

/* Main file as model.json names it. */
const char *sundog_pull_source_get_main_file(const SundogPullSource *source);
