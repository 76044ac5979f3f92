#pragma once

/*
 * Matrices of integers with a scale for each group of columns, whichever way they are packed: what
 * quantized.h says of them becomes blocks of a GGUF type here, for all packings alike. Within this
 * house.
 */

#include "engine/model/quantized.h"

typedef struct SundogAffine SundogAffine;

/* What a packing knows. Rows and groups are in range; rows of a stack are counted through. */
typedef struct {
    /* Stored numbers of rows [first_row, first_row + n_rows): [n_rows, n_columns], from 0 to 2^bits - 1. */
    void (*unpack)(const SundogAffine *affine, uint64_t first_row, uint64_t n_rows,
                   uint8_t *numbers);
    float (*get_scale)(const SundogAffine *affine, uint64_t row, uint64_t group);
    /* One of the two is NULL: value = scale (q - zero), or scale q + minimum. */
    int (*get_zero)(const SundogAffine *affine, uint64_t row, uint64_t group);
    float (*get_minimum)(const SundogAffine *affine, uint64_t row, uint64_t group);
} SundogPacking;

struct SundogAffine {
    SundogRowReader reader;
    const SundogPacking *packing;
    SundogQuantizedModule module;
    uint64_t n_rows;
    uint64_t n_columns;
    uint64_t n_groups;
    uint64_t group_columns;
    uint32_t bits;
    uint32_t zero_shift;  /* added to stored zero points, for packings that take 1 off */
    const uint8_t *g_idx; /* [n_columns] int32 in any alignment: each column's group; or NULL */
    uint32_t type;        /* of the rows that come out */
    uint64_t shape[4];    /* of the tensor, in GGUF's order */
};

/* Chooses the type, which looks at every scale and zero point, and makes the tensor, whose name is its
 * own. The affine is copied. A column's group that is none is an error. */
bool sundog_affine_finish(SundogSource *source, const SundogAffine *affine,
                          SundogSourceTensor *tensor, GError **error);

/* `bits` up to 8 from bit `place` on of a little-endian stream, lowest bits first. */
unsigned sundog_bits_get(const uint8_t *stream, uint64_t place, unsigned bits);
/* The same of a stream down a column of 32-bit words [any, n_columns]. */
unsigned sundog_words_get(const SundogSafetensor *part, uint64_t place, uint64_t n_columns,
                          uint64_t column, unsigned bits);
/* A float of a part, of any of the three types of plain floats. */
float sundog_part_get_float(const SundogSafetensor *part, uint64_t index);
/* A 32-bit word of a part. */
uint32_t sundog_part_get_word(const SundogSafetensor *part, uint64_t index);
bool sundog_part_is_float(const SundogSafetensor *part);
bool sundog_part_is_word(const SundogSafetensor *part);
/* All but the last dimension as rows; a vector is one row. */
uint64_t sundog_part_rows(const SundogSafetensor *part);
uint64_t sundog_part_columns(const SundogSafetensor *part);

/* "MODULE: its parts do not fit each other as NAME has them": always false. */
bool sundog_quantized_refuse(const SundogQuantizedModule *module, const char *what, GError **error);
