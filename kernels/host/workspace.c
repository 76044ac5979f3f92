/* Sizes of what the host kernels need beside their arguments; shared by all instruction sets. */

#include "kernels/contract/attention.h"
#include "kernels/contract/linear.h"
#include "kernels/contract/sample.h"
#include "kernels/host/attention.h"

int64_t
sundog_attention_max_tiles(int64_t n_tokens, int64_t n_sequences)
{
    return 1 + n_tokens / SUNDOG_ATTENTION_TILE_ROWS + n_sequences;
}

size_t
sundog_attention_workspace_bytes(int64_t head_dim)
{
    return sundog_attention_workspace(head_dim).n_bytes;
}

size_t
sundog_linear_workspace_bytes(int64_t n_columns)
{
    /* Two tiles of 32 rows as float32, more than as bytes with their scales and minima. */
    return (size_t)(n_columns + 31) / 32 * 32 * 64 * sizeof(float);
}

size_t
sundog_sample_workspace_bytes(int64_t n_vocabulary)
{
    /* A weight and a key of 8 bytes a token, and its logit; whole blocks of 64 tokens. */
    return (size_t)(n_vocabulary + 63) / 64 * 64 * (8 + 8 + 4);
}
