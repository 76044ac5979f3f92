#pragma once

/*
 * A tensor of a model and its rows. Where the file holds them in one of GGUF's encodings they are read
 * in place; where it holds them in another (a tensor of several parts, a quantization that GGUF does
 * not have) a reader computes them, in the GGUF type that holds every value exactly.
 *
 * Immutable; rows may be read on any thread.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct SundogRowReader SundogRowReader;

struct SundogRowReader {
    /* Writes rows [first_row, first_row + n_rows), one after the other, in the encoding of the tensor's
     * type. Any thread. */
    void (*read)(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows);
};

typedef struct {
    const char *name;   /* GGUF's, whatever file it came from: "blk.0.attn_q.weight" */
    uint32_t type;      /* SundogGgufType: how rows are encoded */
    uint64_t n_rows;    /* output features; 1 for a vector */
    uint64_t n_columns; /* input features, contiguous */
    uint64_t n_bytes;
    const uint8_t
        *data; /* rows one after the other, borrowed from the model; NULL where computed */
    const SundogRowReader *reader; /* borrowed from the model; NULL where `data` holds the rows */
    uint64_t
        reader_rows; /* the reader's that make one of these: more than 1 where vectors are stacked */
} SundogTensor;

size_t sundog_tensor_row_bytes(const SundogTensor *tensor);
/* Rows [first_row, first_row + n_rows): in place, or computed into `scratch`, which has room for them
 * and may be NULL where the tensor has data. No alignment is promised. */
const uint8_t *sundog_tensor_get_rows(const SundogTensor *tensor, uint64_t first_row,
                                      uint64_t n_rows, uint8_t *scratch);
