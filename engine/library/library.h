#pragma once

/*
 * The user's models and cores on disk. A model is a folder of files with a small `model.json` (name,
 * origin, hashes); a core is a package folder. Listing reads headers alone, follows each link once and
 * survives damaged entries by listing them as damaged; deleting needs no parsing.
 *
 * Not thread-safe; each user opens its own.
 */

#include "engine/core/core.h"
#include "engine/library/paths.h"
#include <gio/gio.h>

#define SUNDOG_LIBRARY_ERROR (sundog_library_error_quark())
typedef enum {
    SUNDOG_LIBRARY_ERROR_NOT_FOUND, /* No such entry: the text lists near ones. */
    SUNDOG_LIBRARY_ERROR_BUSY,      /* Another process writes it. */
    SUNDOG_LIBRARY_ERROR_NO_SPACE,  /* Not enough room; the text gives both numbers. */
    SUNDOG_LIBRARY_ERROR_MISMATCH,  /* Size or hash is not the catalogue's. */
    SUNDOG_LIBRARY_ERROR_NETWORK,   /* Could not be fetched; may be tried again. */
    SUNDOG_LIBRARY_ERROR_REFUSED,   /* The host said no (401, 403): the text says what to do. */
    SUNDOG_LIBRARY_ERROR_ABSENT,    /* The host has no such file (404). */
    SUNDOG_LIBRARY_ERROR_INVALID,   /* A name, setting or file of the library that cannot be. */
    SUNDOG_LIBRARY_ERROR_IO,        /* The operating system refused; the text says why. */
} SundogLibraryError;
GQuark sundog_library_error_quark(void);

typedef struct {
    char *name; /* "smollm2-135m-instruct" */
    char *path; /* the model's main file or its folder, or the core's folder */
    uint64_t n_bytes;
    bool damaged;
    char *problem;    /* what is wrong, where damaged */
    JsonObject *info; /* model.json, or the core's manifest; NULL where damaged */
} SundogLibraryEntry;

typedef struct SundogLibrary SundogLibrary;

SundogLibrary *sundog_library_open(GError **error);
void sundog_library_free(SundogLibrary *library);
SundogKeyring *sundog_library_get_keyring(SundogLibrary *library);
/* Why models or cores cannot be seen ("The models folder … is missing: …"), or NULL; owned by the
 * caller. Looked at anew with each call, so that a drive that comes back is seen. */
char *sundog_library_dup_problem(SundogLibrary *library);

/* GPtrArrays of SundogLibraryEntry, sorted by name; owned by the caller. */
GPtrArray *sundog_library_list_models(SundogLibrary *library);
GPtrArray *sundog_library_list_cores(SundogLibrary *library);
/* By name, or by path where the text holds a '/' or ends in .gguf or .core. A core's name may leave
 * out its variant and target where one core alone fits. A damaged entry is found too: ask it. */
SundogLibraryEntry *sundog_library_find_model(SundogLibrary *library, const char *name,
                                              GError **error);
SundogLibraryEntry *sundog_library_find_core(SundogLibrary *library, const char *name,
                                             GError **error);
void sundog_library_entry_free(SundogLibraryEntry *entry);
/* The folder where a core of this name goes: NAME[:VARIANT][@TARGET]; owned by the caller. */
char *sundog_library_dup_core_folder(SundogLibrary *library, const char *name);
/* Whether text is NAME[:VARIANT][@TARGET] (a model's name is NAME alone): parts of letters, digits,
 * '.', '_' and '-', not beginning with '.', at most 128 bytes. */
bool sundog_library_name_is_valid(const char *name);
/* Removes an entry's files and verifies that they are gone; *n_bytes is what came back. Needs no
 * parsing. An entry outside the library's folders is refused, one that is being written is BUSY. */
bool sundog_library_remove(SundogLibrary *library, const SundogLibraryEntry *entry,
                           uint64_t *n_bytes, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogLibrary, sundog_library_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogLibraryEntry, sundog_library_entry_free)
