#include "tests/format/safetensors-builder.h"

#include <stdint.h>
#include <string.h>

GBytes *
safetensors_build(const char *header, size_t data_bytes)
{
    uint64_t n_header_bytes = GUINT64_TO_LE((uint64_t)strlen(header));
    GByteArray *file = g_byte_array_new();
    g_byte_array_append(file, (const guint8 *)&n_header_bytes, sizeof n_header_bytes);
    g_byte_array_append(file, (const guint8 *)header, (guint)strlen(header));
    for (size_t i = 0; i < data_bytes; i++) {
        guint8 byte = (guint8)i;
        g_byte_array_append(file, &byte, 1);
    }
    return g_byte_array_free_to_bytes(file);
}
