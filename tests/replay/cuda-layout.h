#pragma once

/* Sizes, places and numbers of the driver's interface, once as its header and once as replay says. */

#include <stddef.h>

typedef struct {
    const char *what;
    size_t value;
} CudaLayout;

extern const CudaLayout cuda_header_layout[];
