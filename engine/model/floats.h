#pragma once

/* Plain floats in files: F32, F16 and BF16 read as float32, which holds all of them. */

#include "engine/format/gguf.h"

/* Bytes of one value; 0 for other types. */
size_t sundog_float_bytes(uint32_t type);
/* Value `index` of an array of any alignment. */
float sundog_float_get(uint32_t type, const uint8_t *values, size_t index);
float sundog_float_from_f16(uint16_t half);
/* E4M3 has no infinities, and one not-a-number of each sign. */
float sundog_float_from_e4m3(uint8_t code);
/* The half float of that very value; false where there is none, as for what is not finite. */
bool sundog_float_to_f16(float value, uint16_t *half);
