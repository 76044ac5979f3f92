#pragma once

/*
 * A model as transformers saves it and hubs publish it: a folder with config.json, tokenizer.json (or .model), one or
 * several safetensors files, and optionally generation_config.json, tokenizer_config.json,
 * chat_template.jinja (or .json), config_sentence_transformers.json, and hf-modules.h's. Within this house.
 *
 * Immutable after open; safe to share between threads.
 */

#include "engine/format/vocabulary.h"
#include "engine/model/source.h"

typedef struct SundogHfFolder SundogHfFolder;

/* Opens a folder; without its safetensors where only the vocabulary is wanted. */
SundogHfFolder *sundog_hf_folder_open(const char *path, bool with_tensors, GError **error);
void sundog_hf_folder_free(SundogHfFolder *folder);

/* Settings and tensors; NULL and an error where they cannot be read. Must not outlive the folder. */
SundogSource *sundog_hf_folder_new_source(const SundogHfFolder *folder, GError **error);
/* With as many tokens as the model has rows for, where its source, or without one config.json, says
 * that. Owned by the caller. */
SundogVocabulary *sundog_hf_folder_dup_vocabulary(const SundogHfFolder *folder,
                                                  const SundogSource *source, GError **error);
/* Jinja source; *template is NULL where there is none. Owned by the caller. */
bool sundog_hf_folder_dup_template(const SundogHfFolder *folder, char **template, GError **error);

/* The makers' advice on sampling, or NULL; owned by the caller. */
JsonObject *sundog_hf_folder_dup_sampling(const SundogHfFolder *folder);

/* What sentence-transformers says of a model that embeds: "prompts" by name among others; NULL where it says
 * nothing. Owned by the caller. */
JsonObject *sundog_hf_folder_dup_prompts(const SundogHfFolder *folder);

/* Of all files that were opened. */
uint64_t sundog_hf_folder_get_bytes(const SundogHfFolder *folder);
/* SHA-256 of those files' bytes one after the other, the texts in the order of their names and then the
 * safetensors in that of theirs, then those of its modules; in hex, owned by the caller. Fails only where it is cancelled. */
char *sundog_hf_folder_dup_sha256(const SundogHfFolder *folder, GCancellable *cancellable,
                                  GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogHfFolder, sundog_hf_folder_free)
