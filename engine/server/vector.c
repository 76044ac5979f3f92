/* Vectors and scores. */

#include "engine/server/vector.h"

#include <math.h>
#include <string.h>

float *
sundog_vector_normalize(const float *values, uint32_t n)
{
    double sum = 0;
    float *scaled = g_new(float, n);
    for (uint32_t i = 0; i < n; i++)
        sum += (double)values[i] * values[i];
    double factor = sum > 0 ? 1 / sqrt(sum) : 1;
    for (uint32_t i = 0; i < n; i++)
        scaled[i] = (float)(values[i] * factor);
    return scaled;
}

double
sundog_score_of(const float *values, uint32_t n)
{
    double sum = 1;
    if (n == 1)
        return 1 / (1 + exp(-(double)values[0]));
    for (uint32_t i = 1; i < n; i++)
        sum += exp((double)values[i] - values[0]);
    return 1 / sum;
}

void
sundog_vector_print(GString *json, const float *values, uint32_t n)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_c(json, '[');
    for (uint32_t i = 0; i < n; i++) {
        g_string_append(json, i > 0 ? "," : "");
        g_string_append(json, g_ascii_formatd(text, sizeof text, "%.9g", (double)values[i]));
    }
    g_string_append_c(json, ']');
}

void
sundog_vector_print_base64(GString *json, const float *values, uint32_t n)
{
    g_autofree uint32_t *words = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&words[i], &values[i], sizeof words[i]);
        words[i] = GUINT32_TO_LE(words[i]);
    }
    g_autofree char *text = g_base64_encode((const guchar *)words, n * sizeof *words);
    g_string_append_printf(json, "\"%s\"", text);
}
