/* Packing of f8 and back. */

#include "kernels/host/f8.h"

#include "kernels/contract/math.h"

#define D_BYTES 4

static void
copy(uint8_t *row, uint8_t *panel, size_t n_bytes, bool pack)
{
    memcpy(pack ? panel : row, pack ? row : panel, n_bytes);
}

void
sundog_f8_copy_rows(uint8_t *rows, int64_t n_rows, int64_t n_columns, uint8_t *panel, bool pack)
{
    for (int64_t r = 0; r < n_rows; r++)
        for (int64_t k = 0; k < n_columns; k += SUNDOG_F8_COLUMNS, rows += SUNDOG_F8_BYTES) {
            uint8_t *block = (uint8_t *)sundog_f8_block(panel, k);
            copy(rows, block + D_BYTES * r, D_BYTES, pack);
            for (int64_t i = 0; i < SUNDOG_F8_COLUMNS; i++)
                copy(rows + D_BYTES + i, (uint8_t *)sundog_f8_codes(block, i) + r, 1, pack);
        }
}

void
sundog_f8_dequantize_row(const uint8_t *panel, int64_t row, int64_t n_columns, float *values)
{
    for (int64_t k = 0; k < n_columns; k++) {
        const uint8_t *block = sundog_f8_block(panel, k);
        float d;
        memcpy(&d, block + D_BYTES * row, sizeof d);
        values[k] = d * sundog_e4m3_to_f32(sundog_f8_codes(block, k)[row]);
    }
}
