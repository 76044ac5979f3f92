/* The list of operations as data, and the names of types and layouts. */

#include "kernels/contract/operations.h"

#include <string.h>

#define ACCESS_READ SUNDOG_ACCESS_READ
#define ACCESS_WRITE SUNDOG_ACCESS_WRITE
#define ACCESS_UPDATE SUNDOG_ACCESS_UPDATE
#define ACCESS_WORKSPACE SUNDOG_ACCESS_WORKSPACE
#define ACCESS_OPTIONAL_READ ((SundogAccess)(SUNDOG_ACCESS_READ | SUNDOG_ACCESS_OPTIONAL))
#define ACCESS_OPTIONAL_WRITE ((SundogAccess)(SUNDOG_ACCESS_WRITE | SUNDOG_ACCESS_OPTIONAL))

#define A(name, access) {#name, ACCESS_##access},
#define I(name) {#name, false},
#define F(name) {#name, true},

const SundogOperationInfo sundog_operations[SUNDOG_N_OPERATIONS] = {
#define X(kind, text, number, argument_list, parameter_list)     \
    [SUNDOG_OP_##kind] = {.name = text,                          \
                          .version = number,                     \
                          .arguments = {argument_list{NULL, 0}}, \
                          .parameters = {parameter_list{NULL, false}}},
    SUNDOG_OPERATIONS(X)
#undef X
};

SundogOperationKind
sundog_operation_find(const char *name)
{
    int kind = 0;
    while (kind < SUNDOG_N_OPERATIONS && strcmp(sundog_operations[kind].name, name) != 0)
        kind++;
    return (SundogOperationKind)kind;
}

uint32_t
sundog_operation_n_arguments(SundogOperationKind kind)
{
    uint32_t n = 0;
    while (sundog_operations[kind].arguments[n].name != NULL)
        n++;
    return n;
}

uint32_t
sundog_operation_n_parameters(SundogOperationKind kind)
{
    uint32_t n = 0;
    while (sundog_operations[kind].parameters[n].name != NULL)
        n++;
    return n;
}

size_t
sundog_dtype_bytes(SundogDtype dtype)
{
    switch (dtype) {
#define X(name, number, bytes, text) \
    case SUNDOG_DTYPE_##name:        \
        return bytes;
        SUNDOG_DTYPES(X)
#undef X
    }
    return 0;
}

const char *
sundog_dtype_name(SundogDtype dtype)
{
    switch (dtype) {
#define X(name, number, bytes, text) \
    case SUNDOG_DTYPE_##name:        \
        return text;
        SUNDOG_DTYPES(X)
#undef X
    }
    return "unknown";
}

const char *
sundog_layout_name(SundogLayout layout)
{
    switch (layout) {
#define X(name, number, values, text) \
    case SUNDOG_LAYOUT_##name:        \
        return text;
        SUNDOG_LAYOUTS(X)
#undef X
    }
    return "unknown";
}
