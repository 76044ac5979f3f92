#pragma once

/*
 * Keys that order what has a score and an index, such as tokens by their logits: the greatest score first, of
 * equal ones the lower index. All keys of different indices are different, and none is 0.
 */

#include "kernels/contract/math.h"

/* Orders of the infinities, between which lie those of all finite scores. */
#define SUNDOG_ORDER_INFINITY 0x7f800000
#define SUNDOG_ORDER_MINUS_INFINITY (-0x7f800001)

/* Orders floats as signed integers; -0 and 0 are equal. NaN comes past infinity on its sign's side. */
SUNDOG_SHARED int32_t
sundog_score_order(float score)
{
    int32_t bits = (int32_t)sundog_float_bits(score + 0.0f);
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

SUNDOG_SHARED uint64_t
sundog_order_key(int32_t order, int64_t index)
{
    return (uint64_t)((uint32_t)order ^ 0x80000000u) << 32 | (0xffffffffu - (uint32_t)index);
}

SUNDOG_SHARED uint64_t
sundog_score_key(float score, int64_t index)
{
    return sundog_order_key(sundog_score_order(score), index);
}

SUNDOG_SHARED int64_t
sundog_key_index(uint64_t key)
{
    return (int64_t)(0xffffffffu - (uint32_t)key);
}

SUNDOG_SHARED int32_t
sundog_key_order(uint64_t key)
{
    return (int32_t)((uint32_t)(key >> 32) ^ 0x80000000u);
}
