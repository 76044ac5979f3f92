#pragma once

/*
 * How a model lies on disk: models/NAME/ with its files and `model.json`, which is written last, when
 * every file has its size and hash. GGUF files and folders of safetensors that a person put there by hand
 * are models too.
 *   model.json: {"version": 1, "name", "title", "licence", "maker", "n_parameters", "context_length",
 *     "source", "fetched": RFC 3339, "file": the main one, "." where the folder is the model, "files": [{"name", "bytes", "sha256"}]}
 */

#include "engine/library/library.h"

#define SUNDOG_MODEL_FILE "model.json"
/* In place of a main file's name where all files are the model: safetensors with their texts. */
#define SUNDOG_MODEL_IS_FOLDER "."
/* Ends of the names of a file that is being fetched, and of what is known about it. */
#define SUNDOG_PARTIAL_SUFFIX ".partial"
#define SUNDOG_PARTIAL_STATE_SUFFIX ".partial.json"

/* GPtrArray of SundogLibraryEntry, sorted by name; empty where the folder cannot be read. */
GPtrArray *sundog_model_folder_list(const char *models);
/* One GGUF file, or one folder of safetensors, as an entry of its own. */
SundogLibraryEntry *sundog_model_folder_read_path(const char *path, GError **error);
/* Whether the folder holds model.json and every file it names at its full size. */
bool sundog_model_folder_is_complete(const char *folder);
/* Writes model.json; the files stand already. */
bool sundog_model_folder_write(const char *folder, JsonObject *info, GError **error);
