/* Settings read one after the other. */

#include "engine/model/keys.h"

#include "engine/format/error.h"

void
sundog_keys_fail(SundogKeys *keys, int code, const char *format, ...)
{
    if (keys->error != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    keys->error = g_error_new_valist(SUNDOG_FORMAT_ERROR, code, format, arguments);
    va_end(arguments);
}

char *
sundog_keys_dup_name(const SundogKeys *keys, const char *name)
{
    return sundog_source_dup_key(keys->source, name);
}

void
sundog_keys_fail_multiple(SundogKeys *keys, const char *name, uint32_t value, const char *of,
                          uint32_t divisor)
{
    g_autofree char *key = sundog_keys_dup_name(keys, name);
    g_autofree char *of_key = sundog_keys_dup_name(keys, of);
    sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID, "%s is %u, expected a multiple of %s, %u",
                     key, value, of_key, divisor);
}

bool
sundog_keys_has(const SundogKeys *keys, const char *name)
{
    return sundog_source_has(keys->source, name);
}

uint32_t
sundog_keys_read_count(SundogKeys *keys, const char *name, uint32_t max)
{
    g_autofree char *key = sundog_keys_dup_name(keys, name);
    uint64_t value = 0;
    if (!sundog_source_get_uint(keys->source, name, &value))
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "%s is %s, expected a number from 1 to %u", key,
                         sundog_keys_has(keys, name) ? "not a whole number" : "missing", max);
    else if (value < 1 || value > max)
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "%s is %" G_GUINT64_FORMAT ", expected a number from 1 to %u", key, value,
                         max);
    return keys->error == NULL ? (uint32_t)value : 1;
}

uint32_t
sundog_keys_read_count_or(SundogKeys *keys, const char *name, uint32_t max, uint32_t fallback)
{
    return sundog_keys_has(keys, name) ? sundog_keys_read_count(keys, name, max) : fallback;
}

double
sundog_keys_read_positive(SundogKeys *keys, const char *name, double max)
{
    g_autofree char *key = sundog_keys_dup_name(keys, name);
    double value = 0;
    if (!sundog_source_get_float(keys->source, name, &value))
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "%s is %s, expected a number above 0 and up to %g", key,
                         sundog_keys_has(keys, name) ? "not a real number" : "missing", max);
    else if (!(value > 0 && value <= max))
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID,
                         "%s is %g, expected a number above 0 and up to %g", key, value, max);
    return keys->error == NULL ? value : 1;
}

double
sundog_keys_read_positive_or(SundogKeys *keys, const char *name, double max, double fallback)
{
    return sundog_keys_has(keys, name) ? sundog_keys_read_positive(keys, name, max) : fallback;
}

uint32_t
sundog_keys_read_number_or(SundogKeys *keys, const char *name, uint32_t max, uint32_t fallback)
{
    uint64_t value = 1;
    if (sundog_source_get_uint(keys->source, name, &value) && value == 0)
        return 0;
    return sundog_keys_read_count_or(keys, name, max, fallback);
}

double
sundog_keys_read_optional(SundogKeys *keys, const char *name, double max)
{
    double value;
    bool is_off = sundog_source_get_float(keys->source, name, &value) && value == 0;
    return is_off ? 0 : sundog_keys_read_positive_or(keys, name, max, 0);
}

bool
sundog_keys_read_bool_or(SundogKeys *keys, const char *name, bool fallback)
{
    bool value = fallback;
    g_autofree char *key = sundog_keys_dup_name(keys, name);
    if (sundog_keys_has(keys, name) && !sundog_source_get_bool(keys->source, name, &value))
        sundog_keys_fail(keys, SUNDOG_FORMAT_ERROR_INVALID, "%s is not true or false", key);
    return value;
}
