/* Readers of rows over other tensors. */

#include "engine/model/row-readers.h"

#include "engine/model/floats.h"

#include <string.h>

static uint64_t
count_rows(const SundogSourceTensor *tensor)
{
    return tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
}

/* Rows of a part, wherever it has them. */
static void
copy_rows(const SundogSourceTensor *part, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    size_t row_bytes = (size_t)(part->n_bytes / count_rows(part));
    if (part->data != NULL)
        memcpy(rows, part->data + first_row * row_bytes, n_rows * row_bytes);
    else
        part->reader->read(part->reader, first_row, n_rows, rows);
}

/* --- Joined ------------------------------------------------------------------------------------- */

typedef struct {
    SundogRowReader reader;
    uint64_t part_rows;
    size_t row_bytes;
    SundogSourceTensor parts[];
} Joined;

static void
read_joined(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const Joined *joined = (const Joined *)reader;
    while (n_rows > 0) {
        uint64_t first = first_row % joined->part_rows;
        uint64_t n = MIN(n_rows, joined->part_rows - first);
        copy_rows(&joined->parts[first_row / joined->part_rows], first, n, rows);
        rows += n * joined->row_bytes;
        first_row += n;
        n_rows -= n;
    }
}

void
sundog_rows_join(SundogSource *source, const SundogSourceTensor *parts, size_t n_parts,
                 SundogSourceTensor *joined)
{
    Joined *reader = g_malloc0(sizeof(Joined) + n_parts * sizeof(*parts));
    uint64_t part_rows = count_rows(parts);
    reader->reader.read = read_joined;
    reader->part_rows = part_rows;
    reader->row_bytes = (size_t)(parts->n_bytes / part_rows);
    memcpy(reader->parts, parts, n_parts * sizeof(*parts));
    sundog_source_own(source, reader, g_free);
    *joined = parts[0];
    joined->shape[parts[0].shape[2] == 1 ? 2 : 3] = n_parts;
    joined->n_bytes = parts[0].n_bytes * n_parts;
    joined->data = NULL;
    joined->reader = &reader->reader;
}

/* --- Sliced ------------------------------------------------------------------------------------- */

typedef struct {
    SundogRowReader reader;
    uint64_t first_row;
    SundogSourceTensor whole;
} Slice;

static void
read_slice(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const Slice *slice = (const Slice *)reader;
    copy_rows(&slice->whole, slice->first_row + first_row, n_rows, rows);
}

void
sundog_rows_slice(SundogSource *source, const SundogSourceTensor *whole, uint64_t first_row,
                  uint64_t n_rows, SundogSourceTensor *slice)
{
    size_t row_bytes = (size_t)(whole->n_bytes / count_rows(whole));
    *slice = *whole;
    slice->shape[1] = n_rows;
    slice->n_bytes = n_rows * row_bytes;
    if (whole->data != NULL) {
        slice->data = whole->data + first_row * row_bytes;
        return;
    }
    Slice *reader = sundog_source_own(source, g_new0(Slice, 1), g_free);
    *reader = (Slice){.reader = {read_slice}, .first_row = first_row, .whole = *whole};
    slice->reader = &reader->reader;
}

/* --- With 1 added ------------------------------------------------------------------------------- */

typedef struct {
    SundogRowReader reader;
    SundogSourceTensor plain;
} Sum;

static void
read_sum(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const SundogSourceTensor *plain = &((const Sum *)reader)->plain;
    size_t n_values = (size_t)(plain->shape[0] * n_rows);
    size_t value_bytes = sundog_float_bytes(plain->type);
    g_autofree uint8_t *values = g_malloc(n_values * value_bytes);
    copy_rows(plain, first_row, n_rows, values);
    for (size_t i = 0; i < n_values; i++) {
        float value = sundog_float_get(plain->type, values, i) + 1.0f;
        memcpy(rows + i * sizeof(value), &value, sizeof(value));
    }
}

void
sundog_rows_add_one(SundogSource *source, const SundogSourceTensor *plain, SundogSourceTensor *sum)
{
    Sum *reader = sundog_source_own(source, g_new0(Sum, 1), g_free);
    *reader = (Sum){.reader = {read_sum}, .plain = *plain};
    *sum = *plain;
    sum->type = SUNDOG_GGUF_F32;
    sum->n_bytes = plain->n_bytes / sundog_float_bytes(plain->type) * sizeof(float);
    sum->data = NULL;
    sum->reader = &reader->reader;
}
