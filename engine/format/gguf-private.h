#pragma once

/* What the files of the GGUF reader share. Private to the format house. */

#include "engine/format/gguf.h"
#include "engine/format/name-table.h"
#include "engine/format/reader.h"

struct SundogGguf {
    GBytes *bytes;
    const uint8_t *data; /* The tensors' part of the file. */
    uint64_t data_bytes;
    uint32_t alignment;
    GHashTable *values; /* key (owned) -> the metadata file's own struct (owned) */
    SundogGgufTensor *tensors;
    size_t n_tensors;
    GHashTable *tensor_index; /* name (owned) -> SundogGgufTensor */
    GPtrArray *parts; /* of SundogGguf, the second one and on; NULL where there is one file */
};

/* The least that a key with its value, and a tensor's entry, take in the file. */
#define SUNDOG_GGUF_MIN_KEY_BYTES (8 + 4 + 1)
#define SUNDOG_GGUF_MIN_TENSOR_BYTES (8 + 4 + 8 + 4 + 8)

/* Reads a name that is good; `what` stands in the error text. Owned by the caller; NULL on failure. */
char *sundog_gguf_dup_name(SundogReader *reader, const char *what);

/* Frees what the table of values holds. */
void sundog_gguf_value_free(gpointer value);
/* Reads n_keys keys with their values into gguf->values. */
void sundog_gguf_read_values(SundogReader *reader, SundogGguf *gguf, uint64_t n_keys);
