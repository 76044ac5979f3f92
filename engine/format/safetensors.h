#pragma once

/*
 * Safetensors: the tensors of one file, or of a folder of several with an index, mapped read-only.
 * Source: the format's own description in the README of huggingface/safetensors. A file is
 *   u64 length of the header, little-endian, then that many bytes of JSON, then the tensors' data
 *   header: {"NAME": {"dtype": "BF16", "shape": [rows, …, contiguous], "data_offsets": [begin, end]}, …,
 *            "__metadata__": {text: text}}, offsets counted from the begin of the data
 * where the tensors' data is dense: no byte is shared and none is left over. A folder of several files
 * names them in model.safetensors.index.json: {"weight_map": {"NAME": "FILE", …}}. All of it is foreign.
 *
 * Immutable after open; safe to share between threads.
 */

#include <gio/gio.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of elements. X(NAME as files spell it, bits an element) */
#define SUNDOG_SAFETENSORS_DTYPES(X) \
    X(BOOL, 8)                       \
    X(U8, 8)                         \
    X(I8, 8)                         \
    X(F8_E5M2, 8)                    \
    X(F8_E4M3, 8)                    \
    X(F8_E8M0, 8)                    \
    X(F4, 4)                         \
    X(I16, 16)                       \
    X(U16, 16)                       \
    X(F16, 16)                       \
    X(BF16, 16)                      \
    X(I32, 32)                       \
    X(U32, 32)                       \
    X(F32, 32)                       \
    X(F64, 64)                       \
    X(I64, 64)                       \
    X(U64, 64)

typedef enum {
#define X(name, bits) SUNDOG_SAFETENSORS_##name,
    SUNDOG_SAFETENSORS_DTYPES(X)
#undef X
        SUNDOG_N_SAFETENSORS_DTYPES
} SundogSafetensorsDtype;

#define SUNDOG_SAFETENSORS_MAX_RANK 8

typedef struct {
    const char *name; /* borrowed from the directory */
    SundogSafetensorsDtype dtype;
    uint32_t rank;                               /* 0 for a single value */
    uint64_t shape[SUNDOG_SAFETENSORS_MAX_RANK]; /* the last is the contiguous one; 1 beyond rank */
    uint64_t n_values;
    uint64_t n_bytes;
    const uint8_t *data; /* borrowed from the mapping; of any alignment */
} SundogSafetensor;

typedef struct SundogSafetensors SundogSafetensors;

/* Maps and checks all files: model.safetensors, or those of its index, or the only one of the folder.
 * A file that the index names and that is missing is an error with its name. */
SundogSafetensors *sundog_safetensors_open(const char *folder, GError **error);
/* The files that the folder's index names, which need not be there, in the order of their names; owned by
 * the caller, ends with NULL. */
char **sundog_safetensors_dup_index_files(const char *folder, GError **error);
/* One file in memory, for tests and fuzzing. Takes a reference. */
SundogSafetensors *sundog_safetensors_new_from_bytes(GBytes *bytes, const char *name,
                                                     GError **error);
void sundog_safetensors_free(SundogSafetensors *tensors);

/* The files' names in their order, which is that of the index; borrowed, ends with NULL. */
const char *const *sundog_safetensors_get_files(const SundogSafetensors *tensors);
/* The bytes of file `index` of that list; borrowed. */
GBytes *sundog_safetensors_get_bytes(const SundogSafetensors *tensors, size_t index);
size_t sundog_safetensors_get_n_tensors(const SundogSafetensors *tensors);
const SundogSafetensor *sundog_safetensors_get_tensor(const SundogSafetensors *tensors,
                                                      size_t index);
/* NULL where there is none of that name. */
const SundogSafetensor *sundog_safetensors_find(const SundogSafetensors *tensors, const char *name);
const char *sundog_safetensors_dtype_name(SundogSafetensorsDtype dtype);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogSafetensors, sundog_safetensors_free)
