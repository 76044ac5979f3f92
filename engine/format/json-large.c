/* What Python writes beyond the RFC: whole numbers beyond 64 bits, as transformers' usual model_max_length,
 * and infinity, as the usual limit of a state space's steps. */

#include "engine/format/json.h"

#include <string.h>

#define INFINITE "Infinity"
#define LARGEST "1e308   " /* as long */
/* Fewer digits fit. */
#define MIN_DIGITS 19

static const char *
skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return MIN(at + 1, end);
}

/* A whole number of so many digits as a double of the same length: 1234… is 1.23…e18. */
static void
rewrite(char *digits, size_t n_digits)
{
    g_autofree char *exponent = g_strdup_printf("e%zu", n_digits - 1);
    size_t n_exponent = strlen(exponent);
    memmove(digits + 2, digits + 1, n_digits - 2 - n_exponent);
    digits[1] = '.';
    memcpy(digits + n_digits - n_exponent, exponent, n_exponent);
}

static bool
is_large(const char *digits, size_t n_digits)
{
    g_autofree char *text = g_strndup(digits, n_digits);
    return n_digits >= MIN_DIGITS &&
           !g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, NULL, NULL);
}

JsonNode *
sundog_json_parse_large(const char *text, size_t n_bytes, GError **error)
{
    g_autofree char *copy = g_memdup2(text, n_bytes);
    char *end = copy + n_bytes;
    for (char *at = copy; at < end;) {
        if (*at == '"') {
            at = (char *)skip_string(at, end);
            continue;
        }
        if ((size_t)(end - at) >= strlen(INFINITE) && memcmp(at, INFINITE, strlen(INFINITE)) == 0)
            memcpy(at, LARGEST, strlen(LARGEST));
        char *digits = at;
        while (at < end && g_ascii_isdigit(*at))
            at++;
        bool is_whole = at == end || (*at != '.' && *at != 'e' && *at != 'E');
        bool is_begin = digits == copy || strchr(".eE+", digits[-1]) == NULL;
        if (is_whole && is_begin && *digits != '0' && is_large(digits, (size_t)(at - digits)))
            rewrite(digits, (size_t)(at - digits));
        if (at == digits)
            at++;
    }
    return sundog_json_parse(copy, n_bytes, error);
}
