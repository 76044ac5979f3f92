#pragma once

/*
 * What sentence-transformers saves beside a model that embeds or scores: modules.json names what its rows go
 * through, which is pooling, then dense layers, then a norm of the vector; or of a model that writes
 * text, the choice of the words whose logits are scores. Within this house.
 *
 * Immutable after open; safe to share between threads.
 */

#include "engine/format/safetensors.h"
#include "engine/model/source.h"

#define SUNDOG_HF_MAX_DENSE 2

typedef struct SundogHfModules SundogHfModules;

/* Of a model's folder; *modules is NULL where it has no such file. Dense layers are opened only with
 * tensors. UNSUPPORTED with the module's name where one of them is not known here. */
bool sundog_hf_modules_open(const char *folder, bool with_tensors, SundogHfModules **modules,
                            GError **error);
void sundog_hf_modules_free(SundogHfModules *modules);

/* Sets how rows are pooled, and adds the dense layers, or the rows of such words, under GGUF's names. The source must not outlive the
 * modules. */
bool sundog_hf_modules_read(const SundogHfModules *modules, SundogSource *source, GError **error);
/* Appends the bytes of all files that were opened; borrowed. */
void sundog_hf_modules_list(const SundogHfModules *modules, GPtrArray *files);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogHfModules, sundog_hf_modules_free)
