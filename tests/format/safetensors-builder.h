#pragma once

/* Safetensors files in memory, for tests. */

#include <glib.h>

/* The length of the header, the header, and so many bytes of data: 0, 1, 2, … */
GBytes *safetensors_build(const char *header, size_t data_bytes);
