/* Readers of rows over other tensors. */

#include "engine/model/row-readers.h"

#include "engine/model/floats.h"

#include <string.h>

static uint64_t
count_rows(const SundogSourceTensor *tensor)
{
    return tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
}

void
sundog_rows_copy(const SundogSourceTensor *part, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
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
    size_t row_bytes;
    size_t n_parts;
    SundogSourceTensor parts[];
} Joined;

static void
read_joined(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const Joined *joined = (const Joined *)reader;
    for (size_t i = 0; i < joined->n_parts && n_rows > 0; i++) {
        uint64_t part_rows = count_rows(&joined->parts[i]);
        if (first_row >= part_rows) {
            first_row -= part_rows;
            continue;
        }
        uint64_t n = MIN(n_rows, part_rows - first_row);
        sundog_rows_copy(&joined->parts[i], first_row, n, rows);
        rows += n * joined->row_bytes;
        first_row = 0;
        n_rows -= n;
    }
}

/* All parts' rows; the shape is still the first part's. */
static void
join(SundogSource *source, const SundogSourceTensor *parts, size_t n_parts,
     SundogSourceTensor *joined)
{
    Joined *reader = g_malloc0(sizeof(Joined) + n_parts * sizeof(*parts));
    reader->reader.read = read_joined;
    reader->row_bytes = (size_t)(parts->n_bytes / count_rows(parts));
    reader->n_parts = n_parts;
    memcpy(reader->parts, parts, n_parts * sizeof(*parts));
    sundog_source_own(source, reader, g_free);
    *joined = parts[0];
    joined->n_bytes = 0;
    for (size_t i = 0; i < n_parts; i++)
        joined->n_bytes += parts[i].n_bytes;
    joined->data = NULL;
    joined->reader = &reader->reader;
}

void
sundog_rows_join(SundogSource *source, const SundogSourceTensor *parts, size_t n_parts,
                 SundogSourceTensor *joined)
{
    join(source, parts, n_parts, joined);
    joined->shape[parts[0].shape[2] == 1 ? 2 : 3] = n_parts;
}

void
sundog_rows_append(SundogSource *source, const SundogSourceTensor *parts, size_t n_parts,
                   SundogSourceTensor *appended)
{
    join(source, parts, n_parts, appended);
    for (size_t i = 1; i < n_parts; i++)
        appended->shape[1] += parts[i].shape[1];
}

/* --- Sliced ------------------------------------------------------------------------------------- */

typedef struct {
    SundogRowReader reader;
    uint64_t first_row;
    uint64_t n_rows;     /* of each matrix that are taken */
    uint64_t whole_rows; /* of each matrix */
    size_t row_bytes;
    SundogSourceTensor whole;
} Slice;

static void
read_slice(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const Slice *slice = (const Slice *)reader;
    while (n_rows > 0) {
        uint64_t in_matrix = first_row % slice->n_rows;
        uint64_t n = MIN(n_rows, slice->n_rows - in_matrix);
        uint64_t matrix = first_row / slice->n_rows;
        sundog_rows_copy(&slice->whole, matrix * slice->whole_rows + slice->first_row + in_matrix,
                         n, rows);
        rows += n * slice->row_bytes;
        first_row += n;
        n_rows -= n;
    }
}

void
sundog_rows_slice(SundogSource *source, const SundogSourceTensor *whole, uint64_t first_row,
                  uint64_t n_rows, SundogSourceTensor *slice)
{
    size_t row_bytes = (size_t)(whole->n_bytes / count_rows(whole));
    *slice = *whole;
    slice->shape[1] = n_rows;
    slice->n_bytes = count_rows(slice) * row_bytes;
    if (whole->data != NULL && count_rows(whole) == whole->shape[1]) {
        slice->data = whole->data + first_row * row_bytes;
        return;
    }
    Slice *reader = sundog_source_own(source, g_new0(Slice, 1), g_free);
    *reader = (Slice){.reader = {read_slice},
                      .first_row = first_row,
                      .n_rows = n_rows,
                      .whole_rows = whole->shape[1],
                      .row_bytes = row_bytes,
                      .whole = *whole};
    slice->data = NULL;
    slice->reader = &reader->reader;
}

/* --- Every second ------------------------------------------------------------------------------- */

/* Over one tensor, with a number that the kind of reader gives its meaning. */
typedef struct {
    SundogRowReader reader;
    uint64_t first;
    SundogSourceTensor whole;
} View;

static void
make_view(SundogSource *source, const SundogSourceTensor *whole, uint64_t first,
          void (*read)(const SundogRowReader *, uint64_t, uint64_t, uint8_t *),
          SundogSourceTensor *made)
{
    View *view = sundog_source_own(source, g_new0(View, 1), g_free);
    *view = (View){.reader = {read}, .first = first, .whole = *whole};
    *made = *whole;
    made->data = NULL;
    made->reader = &view->reader;
}

static void
read_every_second(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const View *view = (const View *)reader;
    size_t row_bytes = (size_t)(view->whole.n_bytes / count_rows(&view->whole));
    for (uint64_t i = 0; i < n_rows; i++)
        sundog_rows_copy(&view->whole, 2 * (first_row + i) + view->first, 1, rows + i * row_bytes);
}

void
sundog_rows_every_second(SundogSource *source, const SundogSourceTensor *whole, uint64_t first,
                         SundogSourceTensor *half)
{
    make_view(source, whole, first, read_every_second, half);
    half->shape[1] /= 2;
    half->n_bytes /= 2;
}

static void
read_every_second_value(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows,
                        uint8_t *rows)
{
    const View *view = (const View *)reader;
    size_t value_bytes = sundog_float_bytes(view->whole.type);
    size_t n_values = (size_t)(view->whole.shape[0] * n_rows);
    g_autofree uint8_t *values = g_malloc(n_values * value_bytes);
    sundog_rows_copy(&view->whole, first_row, n_rows, values);
    for (size_t i = view->first; i < n_values; i += 2, rows += value_bytes)
        memcpy(rows, values + i * value_bytes, value_bytes);
}

void
sundog_rows_every_second_value(SundogSource *source, const SundogSourceTensor *whole,
                               uint64_t first, SundogSourceTensor *half)
{
    make_view(source, whole, first, read_every_second_value, half);
    half->shape[0] /= 2;
    half->n_bytes /= 2;
}

/* --- Transposed --------------------------------------------------------------------------------- */

/* Column `column` of matrix number `matrix` becomes a row; where the matrix is not in memory it has been
 * read into `values`. */
static void
copy_column(const SundogSourceTensor *whole, const uint8_t *values, uint64_t column, uint8_t *row)
{
    size_t value_bytes = sundog_float_bytes(whole->type);
    for (uint64_t i = 0; i < whole->shape[1]; i++)
        memcpy(row + i * value_bytes, values + (i * whole->shape[0] + column) * value_bytes,
               value_bytes);
}

static void
read_transposed(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const SundogSourceTensor *whole = &((const View *)reader)->whole;
    size_t value_bytes = sundog_float_bytes(whole->type);
    size_t matrix_bytes = (size_t)(whole->shape[0] * whole->shape[1]) * value_bytes;
    g_autofree uint8_t *scratch = whole->data == NULL ? g_malloc(matrix_bytes) : NULL;
    uint64_t in_scratch = UINT64_MAX;
    for (uint64_t row = first_row; row < first_row + n_rows; row++) {
        uint64_t matrix = row / whole->shape[0];
        if (scratch != NULL && matrix != in_scratch)
            sundog_rows_copy(whole, matrix * whole->shape[1], whole->shape[1], scratch);
        in_scratch = matrix;
        copy_column(whole, scratch != NULL ? scratch : whole->data + matrix * matrix_bytes,
                    row % whole->shape[0],
                    rows + (row - first_row) * whole->shape[1] * value_bytes);
    }
}

void
sundog_rows_transpose(SundogSource *source, const SundogSourceTensor *whole,
                      SundogSourceTensor *transposed)
{
    make_view(source, whole, 0, read_transposed, transposed);
    transposed->shape[0] = whole->shape[1];
    transposed->shape[1] = whole->shape[0];
}

/* --- Widened ------------------------------------------------------------------------------------ */

static void
read_f8(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const SundogSourceTensor *f8 = &((const View *)reader)->whole;
    size_t n_bytes = sundog_gguf_row_bytes(f8->type, f8->shape[0]) * (size_t)n_rows;
    g_autofree uint8_t *blocks = g_malloc(n_bytes);
    sundog_rows_copy(f8, first_row, n_rows, blocks);
    for (size_t at = 0; at < n_bytes; at += SUNDOG_F8_BYTES) {
        float d, values[SUNDOG_F8_COLUMNS];
        memcpy(&d, blocks + at, sizeof(d));
        for (size_t i = 0; i < SUNDOG_F8_COLUMNS; i++)
            values[i] = d * sundog_float_from_e4m3(blocks[at + sizeof(d) + i]);
        memcpy(rows, values, sizeof(values));
        rows += sizeof(values);
    }
}

void
sundog_rows_widen_f8(SundogSource *source, const SundogSourceTensor *f8, SundogSourceTensor *wide)
{
    make_view(source, f8, 0, read_f8, wide);
    wide->type = SUNDOG_GGUF_F32;
    wide->n_bytes = count_rows(f8) * f8->shape[0] * sizeof(float);
}

/* --- Computed from each value ------------------------------------------------------------------- */

typedef struct {
    SundogRowReader reader;
    float (*map)(float value); /* NULL where rows are scaled */
    const float *factors;      /* [rows] or NULL */
    SundogSourceTensor plain;
} Map;

static void
read_mapped(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const Map *map = (const Map *)reader;
    size_t n_columns = (size_t)map->plain.shape[0];
    size_t n_values = n_columns * (size_t)n_rows;
    g_autofree uint8_t *values = g_malloc(n_values * sundog_float_bytes(map->plain.type));
    sundog_rows_copy(&map->plain, first_row, n_rows, values);
    for (size_t i = 0; i < n_values; i++) {
        float value = sundog_float_get(map->plain.type, values, i);
        value =
            map->map != NULL ? map->map(value) : value * map->factors[first_row + i / n_columns];
        memcpy(rows + i * sizeof(value), &value, sizeof(value));
    }
}

static void
compute(SundogSource *source, const Map *description, SundogSourceTensor *computed)
{
    const SundogSourceTensor *plain = &description->plain;
    Map *map = sundog_source_own(source, g_new(Map, 1), g_free);
    *map = *description;
    map->reader.read = read_mapped;
    *computed = *plain;
    computed->data = NULL;
    computed->reader = &map->reader;
    computed->type = SUNDOG_GGUF_F32;
    computed->n_bytes = plain->n_bytes / sundog_float_bytes(plain->type) * sizeof(float);
}

void
sundog_rows_map(SundogSource *source, const SundogSourceTensor *plain, float (*function)(float),
                SundogSourceTensor *mapped)
{
    compute(source, &(Map){.map = function, .plain = *plain}, mapped);
}

void
sundog_rows_scale(SundogSource *source, const SundogSourceTensor *plain, const float *factors,
                  SundogSourceTensor *scaled)
{
    compute(source, &(Map){.factors = factors, .plain = *plain}, scaled);
}
