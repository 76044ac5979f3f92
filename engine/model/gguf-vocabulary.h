#pragma once

/* Reads a vocabulary from GGUF's `tokenizer.` metadata. */

#include "engine/format/gguf.h"
#include "engine/format/vocabulary.h"

/* Owned by the caller. */
SundogVocabulary *sundog_gguf_dup_vocabulary(const SundogGguf *gguf, GError **error);
