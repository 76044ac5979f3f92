/* plan_attention: attention.h. */

#include "kernels/contract/attention.h"
#include "kernels/host/kernel.h"

#include <string.h>

void
SUNDOG_KERNEL(PLAN_ATTENTION)(const SundogCall *call)
{
    if (call->thread != 0)
        return;
    const SundogArgument *start = &call->arguments[1], *tiles = &call->arguments[2];
    const int32_t *first_row = call->arguments[0].data, *start_position = start->data;
    int32_t(*tile)[4] = tiles->data;
    int64_t n = 0, room = tiles->shape[0] - 1;
    for (int64_t s = 0; s < start->shape[0]; s++) {
        for (int32_t row = first_row[s]; row < first_row[s + 1] && n < room; n++) {
            int32_t left = first_row[s + 1] - row;
            int32_t here = left < SUNDOG_ATTENTION_TILE_ROWS ? left : SUNDOG_ATTENTION_TILE_ROWS;
            tile[n + 1][0] = (int32_t)s;
            tile[n + 1][1] = row;
            tile[n + 1][2] = here;
            tile[n + 1][3] = start_position[s] + row - first_row[s];
            row += here;
        }
    }
    memset(tile[n + 1], 0, (size_t)(room - n) * sizeof tile[0]);
    memset(tile[0], 0, sizeof tile[0]);
    tile[0][0] = (int32_t)n;
}
