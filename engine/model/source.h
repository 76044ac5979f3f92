#pragma once

/*
 * Where a model's settings and tensors come from. Whatever file holds them, they are asked for by GGUF's
 * names without the architecture ("block_count", "blk.0.attn_q.weight"), so that dimensions and roles
 * are read once for all kinds of files; error texts say what the file itself calls a thing. Within this
 * house.
 *
 * Immutable once opened; safe to share between threads.
 */

#include "engine/format/gguf.h"
#include "engine/model/tensor.h"
#include <json-glib/json-glib.h>

typedef struct SundogSource SundogSource;

/* A tensor as its file has it, before a role is found for it. */
typedef struct {
    const char *name;     /* GGUF's */
    const char *own_name; /* what the file calls it, for error texts */
    uint32_t type;        /* SundogGgufType, or a number that is not in the list */
    uint64_t shape[4];    /* GGUF's order: shape[0] is the contiguous one; 1 beyond the rank */
    uint64_t n_bytes;     /* 0 where the type is not in the list */
    const uint8_t *data;  /* NULL where rows are computed */
    const SundogRowReader *reader; /* NULL where rows lie in `data` */
} SundogSourceTensor;

/* Borrows the file, which must outlive the source. */
SundogSource *sundog_source_new_for_gguf(const SundogGguf *gguf);
/* An empty one, to be filled before it is asked: the architecture's name is borrowed for good. */
SundogSource *sundog_source_new(const char *architecture);
void sundog_source_free(SundogSource *source);

/* Fills a new one: a setting whose value is copied, in place of one that was there; a tensor, false where
 * one of that name is there; and what the source shall free with itself, such as readers and names. */
void sundog_source_set(SundogSource *source, const char *name, const char *own_name,
                       JsonNode *value);
void sundog_source_set_uint(SundogSource *source, const char *name, const char *own_name,
                            uint64_t value);
void sundog_source_set_float(SundogSource *source, const char *name, const char *own_name,
                             double value);
void sundog_source_set_text(SundogSource *source, const char *name, const char *own_name,
                            const char *value);
void sundog_source_unset(SundogSource *source, const char *name);
bool sundog_source_add_tensor(SundogSource *source, const SundogSourceTensor *tensor);
void *sundog_source_own(SundogSource *source, void *memory, GDestroyNotify free_memory);

/* True for a GGUF file, whose converters permute the rows of some projections. */
bool sundog_source_is_gguf(const SundogSource *source);
/* GGUF's name of the architecture as the file says it, not yet known to be one of ours; NULL where the
 * file does not say. Settings below are those of this architecture. */
const char *sundog_source_get_architecture(const SundogSource *source);
/* What the file calls the setting of that name ("llama.block_count"), for error texts; owned. */
char *sundog_source_dup_key(const SundogSource *source, const char *name);

/* Settings: a missing one returns false or NULL, and so does one of another type; has() tells apart.
 * Texts are borrowed, valid UTF-8 and end in NUL. */
bool sundog_source_has(const SundogSource *source, const char *name);
bool sundog_source_get_uint(const SundogSource *source, const char *name, uint64_t *value);
bool sundog_source_get_float(const SundogSource *source, const char *name, double *value);
bool sundog_source_get_bool(const SundogSource *source, const char *name, bool *value);
const char *sundog_source_get_text(const SundogSource *source, const char *name);
/* Arrays of numbers (truths count as 0 and 1): 0 where there is none. */
uint64_t sundog_source_get_array_length(const SundogSource *source, const char *name);
bool sundog_source_get_array_number(const SundogSource *source, const char *name, uint64_t index,
                                    double *value);
/* The file's name of a setting that nothing has asked about so far, other than 0 and false; NULL where
 * there is none. Owned by the caller. */
char *sundog_source_dup_unasked(const SundogSource *source);
/* What the file says of the model as a whole, fit to be shown, or NULL. */
const char *sundog_source_get_title(const SundogSource *source);
const char *sundog_source_get_licence(const SundogSource *source);

size_t sundog_source_get_n_tensors(const SundogSource *source);
void sundog_source_get_tensor(const SundogSource *source, size_t index, SundogSourceTensor *tensor);
/* False where there is none of that name. */
bool sundog_source_find_tensor(const SundogSource *source, const char *name,
                               SundogSourceTensor *tensor);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogSource, sundog_source_free)
