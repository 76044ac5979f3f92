#pragma once

/*
 * sigmoid_mul: y = sigmoid(gate) * x, elementwise, or a row's one gate for all of its elements, where
 * sigmoid(g) = 1 / (1 + exp(-g)); each step rounded once. Any split.
 */

#include "kernels/contract/math.h"

SUNDOG_SHARED float
sundog_sigmoid(float gate)
{
    return 1.0f / (1.0f + sundog_exp(-gate));
}
