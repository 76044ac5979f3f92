#pragma once

/*
 * Settings of a model's source, read one after the other: each is checked against its range, the first
 * failure is kept, and later reads give a number that harms nothing. Within this house.
 */

#include "engine/model/source.h"

typedef struct {
    const SundogSource *source;
    GError *error; /* the reader's user takes it */
} SundogKeys;

void sundog_keys_fail(SundogKeys *keys, int code, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* One setting is not a multiple of another. */
void sundog_keys_fail_multiple(SundogKeys *keys, const char *name, uint32_t value, const char *of,
                               uint32_t divisor);
/* What the file calls a setting; owned by the caller. */
char *sundog_keys_dup_name(const SundogKeys *keys, const char *name);
bool sundog_keys_has(const SundogKeys *keys, const char *name);

/* A whole number from 1 to max. */
uint32_t sundog_keys_read_count(SundogKeys *keys, const char *name, uint32_t max);
/* A whole number up to max, or the fallback where there is none. A stated 0 counts as a failure. */
uint32_t sundog_keys_read_count_or(SundogKeys *keys, const char *name, uint32_t max,
                                   uint32_t fallback);
/* The same, but 0 is a number like others. */
uint32_t sundog_keys_read_number_or(SundogKeys *keys, const char *name, uint32_t max,
                                    uint32_t fallback);
/* A finite number above 0 and up to max. */
double sundog_keys_read_positive(SundogKeys *keys, const char *name, double max);
double sundog_keys_read_positive_or(SundogKeys *keys, const char *name, double max,
                                    double fallback);
/* The same, where 0 stands for a setting that is missing. */
double sundog_keys_read_optional(SundogKeys *keys, const char *name, double max);
bool sundog_keys_read_bool_or(SundogKeys *keys, const char *name, bool fallback);
