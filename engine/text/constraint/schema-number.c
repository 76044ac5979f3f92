/*
 * Numbers between bounds, digit by digit: as long as all digits so far are a bound's own, the next may
 * not pass the bound's; once one differs, the rest is free. Negative ones are their magnitudes between
 * the bounds' negatives. Without bounds a number is JSON's own; with them it has no exponent.
 */

#include "engine/text/constraint/schema-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 18
/* More would not change a double of the size that bounds have. */
#define MAX_FRACTION 10
#define DEAD SUNDOG_SCHEMA_FAILED

/* A magnitude in decimal, without zeros that say nothing. */
typedef struct {
    char whole[MAX_DIGITS + 2];
    char fraction[32];
    bool excluded;
} Bound;

typedef struct {
    SundogSchemaCompiler *compiler;
    const Bound *low;
    const Bound *high; /* or NULL */
    bool integer;
    uint32_t to;
} Range;

/* Reading bounds */

/* The shortest decimal text of |value| as a bound; false where it has more digits than are counted. */
static bool
set_bound(Bound *bound, double value, bool excluded)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE], format[8];
    int precision = 0;
    value = fabs(value);
    if (value >= 1e15)
        return false;
    do {
        g_snprintf(format, sizeof format, "%%.%df", precision);
        g_ascii_formatd(text, sizeof text, format, value);
    } while (g_ascii_strtod(text, NULL) != value && ++precision <= MAX_FRACTION);
    if (precision > MAX_FRACTION)
        return false;
    const char *point = strchr(text, '.');
    size_t n_whole = point != NULL ? (size_t)(point - text) : strlen(text);
    g_strlcpy(bound->whole, text, MIN(n_whole + 1, sizeof bound->whole));
    g_strlcpy(bound->fraction, point != NULL ? point + 1 : "", sizeof bound->fraction);
    bound->excluded = excluded;
    return true;
}

/* A number, or false where there is none; *failed where there is something else. */
static bool
get_number(SundogSchemaCompiler *compiler, JsonObject *schema, const char *keyword, double *value,
           bool *failed)
{
    JsonNode *node = json_object_get_member(schema, keyword);
    GType type = node != NULL ? json_node_get_value_type(node) : G_TYPE_INVALID;
    if (node == NULL)
        return false;
    /* Draft 4 had a boolean beside the bound. */
    if (type != G_TYPE_INT64 && type != G_TYPE_DOUBLE) {
        sundog_schema_refuse(compiler, keyword, "a number is expected");
        *failed = true;
        return false;
    }
    *value = json_node_get_double(node);
    return true;
}

typedef struct {
    bool has_low;
    bool has_high;
    bool excludes_low;
    bool excludes_high;
    double low;
    double high;
} Interval;

static bool
read_interval(SundogSchemaCompiler *compiler, JsonObject *schema, Interval *interval)
{
    double value;
    bool failed = false;
    interval->has_low = get_number(compiler, schema, "minimum", &interval->low, &failed);
    interval->has_high = get_number(compiler, schema, "maximum", &interval->high, &failed);
    if (get_number(compiler, schema, "exclusiveMinimum", &value, &failed) &&
        (!interval->has_low || value >= interval->low)) {
        interval->has_low = interval->excludes_low = true;
        interval->low = value;
    }
    if (get_number(compiler, schema, "exclusiveMaximum", &value, &failed) &&
        (!interval->has_high || value <= interval->high)) {
        interval->has_high = interval->excludes_high = true;
        interval->high = value;
    }
    return !failed;
}

/* The whole numbers within. */
static void
make_whole(Interval *interval)
{
    double low = ceil(interval->low), high = floor(interval->high);
    interval->low = low + (interval->excludes_low && low == interval->low);
    interval->high = high - (interval->excludes_high && high == interval->high);
    interval->excludes_low = interval->excludes_high = false;
}

/* Digits */

/* Whether the number may end where its digits so far are a bound's, of whose fraction `rest` is left. */
static bool
may_end_at_low(const Bound *bound, const char *rest)
{
    return *rest == '\0' && !bound->excluded;
}

static bool
may_end_at_high(const Bound *bound, const char *rest)
{
    return *rest != '\0' || !bound->excluded;
}

static char
digit_at(const char *digits, size_t index)
{
    return index < strlen(digits) ? digits[index] : '0';
}

static const char *
rest_of(const Bound *bound, size_t n_digits)
{
    size_t n = bound != NULL ? strlen(bound->fraction) : 0;
    return n > 0 ? bound->fraction + MIN(n, n_digits) : "";
}

/* States by whether the digits so far are the lower and the upper bound's. */
typedef uint32_t Front[2][2];

static bool
may_end(const Range *range, bool at_low, bool at_high, size_t n_fraction)
{
    return (!at_low || may_end_at_low(range->low, rest_of(range->low, n_fraction))) &&
           (!at_high || may_end_at_high(range->high, rest_of(range->high, n_fraction)));
}

/* From each state of a front by each digit that the bounds' allow, into the next. */
static void
add_digit(const Range *range, Front from, Front to, char low, char high, char least)
{
    SundogAutomatonBuilder *builder = range->compiler->builder;
    for (int at_low = 0; at_low < 2; at_low++)
        for (int at_high = 0; at_high < 2; at_high++)
            for (char digit = least; digit <= '9' && from[at_low][at_high] != DEAD; digit++) {
                if ((at_low && digit < low) || (at_high && digit > high))
                    continue;
                uint32_t *next = &to[at_low && digit == low][at_high && digit == high];
                if (*next == DEAD)
                    *next = sundog_automaton_builder_add_state(builder);
                sundog_automaton_builder_add_bytes(builder, from[at_low][at_high], (uint8_t)digit,
                                                   (uint8_t)digit, *next);
            }
}

static void
add_ends(const Range *range, Front front, size_t n_fraction)
{
    for (int at_low = 0; at_low < 2; at_low++)
        for (int at_high = 0; at_high < 2; at_high++)
            if (front[at_low][at_high] != DEAD && may_end(range, at_low, at_high, n_fraction))
                sundog_automaton_builder_add_empty(range->compiler->builder, front[at_low][at_high],
                                                   range->to);
}

static void
add_fraction(const Range *range, Front front)
{
    SundogAutomatonBuilder *builder = range->compiler->builder;
    Front current, next;
    memcpy(current, front, sizeof current);
    for (int i = 0; i < 4; i++) {
        uint32_t *state = &current[i / 2][i % 2];
        if (*state != DEAD)
            *state = sundog_automaton_builder_add_text(builder, *state, ".", 1);
    }
    for (size_t i = 0; i < MAX_FRACTION; i++) {
        memset(next, 0xFF, sizeof next);
        add_digit(range, current, next, digit_at(range->low->fraction, i),
                  range->high != NULL ? digit_at(range->high->fraction, i) : '9', '0');
        add_ends(range, next, i + 1);
        memcpy(current, next, sizeof current);
    }
}

/* All magnitudes of the range whose whole part has so many digits. */
static void
add_length(const Range *range, uint32_t from, size_t n_digits)
{
    Front current, next;
    size_t n_low = strlen(range->low->whole);
    size_t n_high = range->high != NULL ? strlen(range->high->whole) : 0;
    memset(current, 0xFF, sizeof current);
    current[n_digits == n_low][n_digits == n_high] = from;
    for (size_t i = 0; i < n_digits; i++) {
        memset(next, 0xFF, sizeof next);
        add_digit(range, current, next, n_digits == n_low ? range->low->whole[i] : '0',
                  n_digits == n_high ? range->high->whole[i] : '9',
                  i == 0 && n_digits > 1 ? '1' : '0');
        memcpy(current, next, sizeof current);
    }
    add_ends(range, current, 0);
    if (!range->integer)
        add_fraction(range, current);
}

static void
add_magnitudes(const Range *range, uint32_t from)
{
    size_t n_most = range->high != NULL ? strlen(range->high->whole) : MAX_DIGITS;
    for (size_t n = strlen(range->low->whole); n <= n_most; n++)
        add_length(range, from, n);
}

/* The part of the interval on one side of zero; negative numbers are given by their magnitudes. False
 * where a bound has too many digits. */
static bool
add_side(SundogSchemaCompiler *compiler, const Interval *interval, bool integer, bool negative,
         uint32_t from, uint32_t to)
{
    Interval side = *interval;
    if (negative)
        side = (Interval){interval->has_high,     interval->has_low, interval->excludes_high,
                          interval->excludes_low, -interval->high,   -interval->low};
    if (side.has_high && (side.high < 0 || (negative && side.high == 0)))
        return true;
    Bound low = {.whole = "0", .excluded = negative}, high;
    if (side.has_low && side.low >= 0 && !(negative && side.low == 0) &&
        !set_bound(&low, side.low, side.excludes_low))
        return false;
    if (side.has_high && !set_bound(&high, side.high, side.excludes_high))
        return false;
    Range range = {compiler, &low, side.has_high ? &high : NULL, integer, to};
    if (negative)
        from = sundog_automaton_builder_add_text(compiler->builder, from, "-", 1);
    add_magnitudes(&range, from);
    return true;
}

uint32_t
sundog_schema_add_number(SundogSchemaCompiler *compiler, JsonObject *schema, bool integer,
                         uint32_t from)
{
    Interval interval = {0};
    double step = 1;
    bool failed = false;
    if (!read_interval(compiler, schema, &interval))
        return SUNDOG_SCHEMA_FAILED;
    if (get_number(compiler, schema, "multipleOf", &step, &failed) || failed) {
        if (step != 1)
            return sundog_schema_refuse(compiler, "multipleOf",
                                        "only 1 can be enforced by this server: leave it out");
        integer = true;
    }
    if (!interval.has_low && !interval.has_high)
        return sundog_automaton_builder_add_call(
            compiler->builder, from,
            integer ? sundog_json_grammar_get_integer(compiler->json)
                    : sundog_json_grammar_get_number(compiler->json));
    if (integer)
        make_whole(&interval);
    if (interval.has_low && interval.has_high &&
        (interval.low > interval.high ||
         (interval.low == interval.high && (interval.excludes_low || interval.excludes_high))))
        return sundog_schema_contradict(compiler,
                                        interval.excludes_low ? "exclusiveMinimum" : "minimum",
                                        "no number is left below the maximum");
    uint32_t to = sundog_automaton_builder_add_state(compiler->builder);
    if (!add_side(compiler, &interval, integer, false, from, to) ||
        !add_side(compiler, &interval, integer, true, from, to))
        return sundog_schema_refuse(compiler, interval.has_low ? "minimum" : "maximum",
                                    "a bound has more digits than can be enforced");
    return to;
}
