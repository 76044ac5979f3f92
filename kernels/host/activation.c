/* Sizes of quantized activations. */

#include "kernels/contract/activation.h"

size_t
sundog_activation_tile_bytes(int64_t n_columns)
{
    return sundog_tile_layout(n_columns).n_bytes;
}
