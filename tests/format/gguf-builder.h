#pragma once

/*
 * Builds GGUF files in memory, well-formed ones and others: every number that a writer would compute
 * can be set wrong. Keys and tensors keep their order; setting one again replaces it.
 */

#include "engine/format/writer.h"
#include <stdint.h>

typedef struct {
    char *name;
    uint32_t type; /* of the value, as GGUF counts */
    GBytes *value;
} GgufBuilderKey;

typedef struct {
    char *name;
    uint32_t type;
    uint32_t rank;
    uint64_t shape[4];
    uint64_t n_bytes; /* of data, zeros */
    uint64_t offset;  /* UINT64_MAX: where the data comes to lie */
} GgufBuilderTensor;

typedef struct {
    uint32_t version;
    uint64_t n_keys;    /* as the header says; UINT64_MAX: as many as there are */
    uint64_t n_tensors; /* likewise */
    uint32_t alignment;
    GPtrArray *keys;    /* GgufBuilderKey */
    GPtrArray *tensors; /* GgufBuilderTensor */
} GgufBuilder;

void gguf_builder_init(GgufBuilder *builder);
void gguf_builder_clear(GgufBuilder *builder);
/* The file; owned by the caller. */
GBytes *gguf_builder_build(const GgufBuilder *builder);

/* Sets a key to a value already encoded in the writer, which is cleared. */
void gguf_builder_set(GgufBuilder *builder, const char *name, uint32_t type, SundogWriter *value);
void gguf_builder_remove(GgufBuilder *builder, const char *name);
void gguf_builder_set_u32(GgufBuilder *builder, const char *name, uint32_t value);
void gguf_builder_set_u64(GgufBuilder *builder, const char *name, uint64_t value);
void gguf_builder_set_f32(GgufBuilder *builder, const char *name, float value);
void gguf_builder_set_bool(GgufBuilder *builder, const char *name, uint8_t value);
void gguf_builder_set_string(GgufBuilder *builder, const char *name, const char *value);
void gguf_builder_set_strings(GgufBuilder *builder, const char *name, const char *const *values,
                              uint64_t n_values);
void gguf_builder_set_i32s(GgufBuilder *builder, const char *name, const int32_t *values,
                           uint64_t n_values);

/* Adds a tensor, or returns the one of this name to be changed; borrowed until the next is added. */
GgufBuilderTensor *gguf_builder_add_tensor(GgufBuilder *builder, const char *name, uint32_t type,
                                           uint64_t n_columns, uint64_t n_rows, uint64_t n_bytes);
GgufBuilderTensor *gguf_builder_get_tensor(GgufBuilder *builder, const char *name);
void gguf_builder_remove_tensor(GgufBuilder *builder, const char *name);

/* Writes a GGUF string: a u64 length and bytes. */
void gguf_builder_write_string(SundogWriter *writer, const char *text);
