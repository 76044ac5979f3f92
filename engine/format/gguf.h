#pragma once

/*
 * GGUF version 3: metadata and tensor directory of one file, mapped read-only.
 * Source: the GGUF specification in ggml's docs/gguf.md. The file is foreign: everything is bounded.
 *
 * Immutable after open; safe to share between threads.
 */

#include <gio/gio.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types of tensor data, with GGUF's own numbers; F8 is none of GGUF's but layout.h's, and in no file.
 * X(NAME, number, values a block, bytes a block) */
#define SUNDOG_GGUF_TYPES(X) \
    X(F32, 0, 1, 4)          \
    X(F16, 1, 1, 2)          \
    X(Q4_0, 2, 32, 18)       \
    X(Q4_1, 3, 32, 20)       \
    X(Q5_0, 6, 32, 22)       \
    X(Q5_1, 7, 32, 24)       \
    X(Q8_0, 8, 32, 34)       \
    X(Q2_K, 10, 256, 84)     \
    X(Q3_K, 11, 256, 110)    \
    X(Q4_K, 12, 256, 144)    \
    X(Q5_K, 13, 256, 176)    \
    X(Q6_K, 14, 256, 210)    \
    X(IQ2_XXS, 16, 256, 66)  \
    X(IQ2_XS, 17, 256, 74)   \
    X(IQ3_XXS, 18, 256, 98)  \
    X(IQ1_S, 19, 256, 50)    \
    X(IQ4_NL, 20, 32, 18)    \
    X(IQ3_S, 21, 256, 110)   \
    X(IQ2_S, 22, 256, 82)    \
    X(IQ4_XS, 23, 256, 136)  \
    X(I8, 24, 1, 1)          \
    X(I16, 25, 1, 2)         \
    X(I32, 26, 1, 4)         \
    X(I64, 27, 1, 8)         \
    X(F64, 28, 1, 8)         \
    X(IQ1_M, 29, 256, 56)    \
    X(BF16, 30, 1, 2)        \
    X(TQ1_0, 34, 256, 54)    \
    X(TQ2_0, 35, 256, 66)    \
    X(MXFP4, 39, 32, 17)     \
    X(NVFP4, 40, 64, 36)     \
    X(Q1_0, 41, 128, 18)     \
    X(F8, 0x53440008, 64, 68)

/* A block of F8: d f32, then a code a column. */
#define SUNDOG_F8_COLUMNS 64
#define SUNDOG_F8_BYTES 68

typedef enum {
#define X(name, number, values, bytes) SUNDOG_GGUF_##name = number,
    SUNDOG_GGUF_TYPES(X)
#undef X
} SundogGgufType;

typedef struct {
    const char *name;  /* borrowed from the file */
    uint32_t type;     /* SundogGgufType; a number not in the list has n_bytes 0 and no data */
    uint32_t rank;     /* 1 to 4 */
    uint64_t shape[4]; /* GGUF's order: shape[0] is the contiguous one; 1 beyond rank */
    uint64_t n_bytes;
    const uint8_t *data; /* borrowed from the mapping */
} SundogGgufTensor;

typedef struct SundogGguf SundogGguf;

/* Maps and checks the whole directory: every count, string, array, alignment and tensor range. Of a model
 * in several parts (NAME-00001-of-00003.gguf) it takes the first one's path and opens all. */
SundogGguf *sundog_gguf_open(const char *path, GError **error);
/* The same over bytes in memory, for tests and fuzzing. Takes a reference. */
SundogGguf *sundog_gguf_new_from_bytes(GBytes *bytes, const char *name, GError **error);
void sundog_gguf_free(SundogGguf *gguf);

/* Whether a file's name or path is that of one of several parts, numbered from 1. */
bool sundog_gguf_split_parse(const char *name, unsigned *part, unsigned *n_parts);
/* The name of another part beside one of them; owned by the caller. */
char *sundog_gguf_split_dup_name(const char *name, unsigned part);

/* Of all parts. */
uint64_t sundog_gguf_get_file_bytes(const SundogGguf *gguf);
/* SHA-256 of the whole file, of parts one after the other, in hex, computed at each call; owned by the caller. Fails only where it is
 * cancelled. */
char *sundog_gguf_dup_sha256(const SundogGguf *gguf, GCancellable *cancellable, GError **error);
size_t sundog_gguf_get_n_tensors(const SundogGguf *gguf);
const SundogGgufTensor *sundog_gguf_get_tensor(const SundogGguf *gguf, size_t index);
const SundogGgufTensor *sundog_gguf_find_tensor(const SundogGguf *gguf, const char *name);
/* Bytes of a row of so many values, a multiple of the type's block; 0 for a type not in the list. */
size_t sundog_gguf_row_bytes(uint32_t type, uint64_t n_values);
const char *sundog_gguf_type_name(uint32_t type); /* "Q4_1", or "type 99" interned */

/* Metadata. A missing key returns false or NULL; so does one of another type, since a reader's
 * default is then as wrong as the file: use sundog_gguf_has() to tell the two apart. Texts are borrowed
 * and foreign: of any length, not always UTF-8, and with NUL inside where the file has it. */
bool sundog_gguf_has(const SundogGguf *gguf, const char *key);
/* All keys in order, ending in NULL: the array is the caller's, the keys are borrowed. */
const char **sundog_gguf_dup_keys(const SundogGguf *gguf);
bool sundog_gguf_get_uint(const SundogGguf *gguf, const char *key, uint64_t *value);
bool sundog_gguf_get_float(const SundogGguf *gguf, const char *key, double *value);
bool sundog_gguf_get_bool(const SundogGguf *gguf, const char *key, bool *value);
/* Ends in NUL; n_bytes may be NULL. */
const char *sundog_gguf_get_string(const SundogGguf *gguf, const char *key, size_t *n_bytes);
/* Arrays: the count, then elements by index. A text lies in the mapping and does not end in NUL. */
uint64_t sundog_gguf_get_array_length(const SundogGguf *gguf, const char *key);
const char *sundog_gguf_get_array_string(const SundogGguf *gguf, const char *key, uint64_t index,
                                         size_t *n_bytes);
bool sundog_gguf_get_array_number(const SundogGguf *gguf, const char *key, uint64_t index,
                                  double *value);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogGguf, sundog_gguf_free)
