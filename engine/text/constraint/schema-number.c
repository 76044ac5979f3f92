/*
 * Numbers between bounds, digit by digit: as long as all digits so far are a bound's own, the next may
 * not pass the bound's; once one differs, the rest is free. Negative ones are their magnitudes between
 * the bounds' negatives. Of multiples the rest is kept too, of all digits as one whole number. Without
 * any of these a number is JSON's own; with them it has no exponent.
 */

#include "engine/text/constraint/schema-private.h"

#include "engine/format/json-members.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 18
/* More would not change a double of the size that bounds have. */
#define MAX_FRACTION 10
/* Of multiples without an upper bound, digits before the point; and the most rests that are told apart. */
#define MAX_MULTIPLE_DIGITS 9
#define MAX_MODULUS 360
#define DEAD SUNDOG_SCHEMA_FAILED

/* A magnitude in decimal, without zeros that say nothing. */
typedef struct {
    char whole[MAX_DIGITS + 2];
    char fraction[32];
    bool excluded;
} Bound;

/* Numbers with at most so many digits behind the point, which read as a whole number with all of these
 * leave no rest. */
typedef struct {
    uint32_t modulus;
    size_t n_fraction;
} Step;

typedef struct {
    SundogSchemaCompiler *compiler;
    Step step;
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
    if (node == NULL || (type == G_TYPE_BOOLEAN && g_str_has_prefix(keyword, "exclusive")))
        return false;
    if (type != G_TYPE_INT64 && type != G_TYPE_DOUBLE) {
        sundog_schema_refuse(compiler, keyword, "a number is expected");
        *failed = true;
        return false;
    }
    *value = json_node_get_double(node);
    return true;
}

static bool
is_true(JsonObject *schema, const char *keyword)
{
    return sundog_json_get_bool(schema, keyword, false);
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
    /* Draft 4 had a boolean beside the bound. */
    interval->excludes_low = interval->has_low && is_true(schema, "exclusiveMinimum");
    interval->excludes_high = interval->has_high && is_true(schema, "exclusiveMaximum");
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

/* States by whether the digits so far are the lower and the upper bound's, and by the rest. */
typedef uint32_t *Front;

static Front
new_front(const Range *range)
{
    size_t n_bytes = 4 * range->step.modulus * sizeof(uint32_t);
    Front front = g_malloc(n_bytes);
    memset(front, 0xFF, n_bytes);
    return front;
}

static uint32_t *
state_of(const Range *range, Front front, bool at_low, bool at_high, uint32_t rest)
{
    return &front[(2 * at_low + at_high) * range->step.modulus + rest];
}

static bool
may_end(const Range *range, bool at_low, bool at_high, uint32_t rest, size_t n_fraction)
{
    for (size_t i = n_fraction; i < range->step.n_fraction && range->step.modulus > 1; i++)
        rest = rest * 10 % range->step.modulus;
    return rest == 0 && (!at_low || may_end_at_low(range->low, rest_of(range->low, n_fraction))) &&
           (!at_high || may_end_at_high(range->high, rest_of(range->high, n_fraction)));
}

/* The digits that one may be at a place: the bounds' own there, and the least one. */
typedef struct {
    char low, high, least;
} Digits;

static void
add_digit_from(const Range *range, uint32_t from, bool at_low, bool at_high, uint32_t rest,
               Digits digits, Front to)
{
    SundogAutomatonBuilder *builder = range->compiler->builder;
    for (char digit = digits.least; digit <= '9'; digit++) {
        if ((at_low && digit < digits.low) || (at_high && digit > digits.high))
            continue;
        uint32_t next_rest = (rest * 10 + (uint32_t)(digit - '0')) % range->step.modulus;
        uint32_t *next = state_of(range, to, at_low && digit == digits.low,
                                  at_high && digit == digits.high, next_rest);
        if (*next == DEAD)
            *next = sundog_automaton_builder_add_state(builder);
        sundog_automaton_builder_add_bytes(builder, from, (uint8_t)digit, (uint8_t)digit, *next);
    }
}

/* From each state of a front, which is freed, by each digit that the bounds allow; the next front. */
static Front
add_digit(const Range *range, Front from, Digits digits)
{
    Front to = new_front(range);
    for (uint32_t i = 0; i < 4 * range->step.modulus; i++) {
        uint32_t place = i / range->step.modulus;
        if (from[i] != DEAD)
            add_digit_from(range, from[i], place / 2, place % 2, i % range->step.modulus, digits,
                           to);
    }
    g_free(from);
    return to;
}

static void
add_ends(const Range *range, Front front, size_t n_fraction)
{
    for (uint32_t i = 0; i < 4 * range->step.modulus; i++) {
        uint32_t place = i / range->step.modulus;
        if (front[i] != DEAD &&
            may_end(range, place / 2, place % 2, i % range->step.modulus, n_fraction))
            sundog_automaton_builder_add_empty(range->compiler->builder, front[i], range->to);
    }
}

/* Takes the front. */
static void
add_fraction(const Range *range, Front current)
{
    SundogAutomatonBuilder *builder = range->compiler->builder;
    for (uint32_t i = 0; i < 4 * range->step.modulus; i++)
        if (current[i] != DEAD)
            current[i] = sundog_automaton_builder_add_text(builder, current[i], ".", 1);
    for (size_t i = 0; i < range->step.n_fraction; i++) {
        current = add_digit(range, current,
                            (Digits){digit_at(range->low->fraction, i),
                                     range->high != NULL ? digit_at(range->high->fraction, i) : '9',
                                     '0'});
        add_ends(range, current, i + 1);
    }
    g_free(current);
}

/* All magnitudes of the range whose whole part has so many digits. */
static void
add_length(const Range *range, uint32_t from, size_t n_digits)
{
    size_t n_low = strlen(range->low->whole);
    size_t n_high = range->high != NULL ? strlen(range->high->whole) : 0;
    Front current = new_front(range);
    *state_of(range, current, n_digits == n_low, n_digits == n_high, 0) = from;
    for (size_t i = 0; i < n_digits; i++)
        current = add_digit(range, current,
                            (Digits){n_digits == n_low ? range->low->whole[i] : '0',
                                     n_digits == n_high ? range->high->whole[i] : '9',
                                     i == 0 && n_digits > 1 ? '1' : '0'});
    add_ends(range, current, 0);
    if (range->integer)
        g_free(current);
    else
        add_fraction(range, current);
}

static void
add_magnitudes(const Range *range, uint32_t from)
{
    size_t n_least = strlen(range->low->whole);
    size_t n_open = range->step.modulus > 1 ? MAX(MAX_MULTIPLE_DIGITS, n_least) : MAX_DIGITS;
    size_t n_most = range->high != NULL ? strlen(range->high->whole) : n_open;
    for (size_t n = n_least; n <= n_most; n++)
        add_length(range, from, n);
}

/* multipleOf */

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Reads multipleOf; *is_given where there is one. Whole numbers are multiples of the least whole one. */
static bool
read_step(SundogSchemaCompiler *compiler, JsonObject *schema, bool integer, Step *step,
          bool *is_given)
{
    double value;
    bool failed = false;
    Bound digits;
    *is_given = get_number(compiler, schema, "multipleOf", &value, &failed);
    if (!*is_given)
        return !failed;
    if (value <= 0 || !set_bound(&digits, value, false)) {
        sundog_schema_refuse(compiler, "multipleOf",
                             "a number above 0 with few digits is expected");
        return false;
    }
    g_autofree char *all = g_strconcat(digits.whole, digits.fraction, NULL);
    uint64_t modulus = g_ascii_strtoull(all, NULL, 10), power = 1;
    step->n_fraction = strlen(digits.fraction);
    for (size_t i = 0; i < step->n_fraction && integer; i++)
        power *= 10;
    if (integer) {
        modulus /= common_divisor(modulus, power);
        step->n_fraction = 0;
    }
    if (modulus > MAX_MODULUS) {
        sundog_schema_refuse(compiler, "multipleOf",
                             "at most %d times a power of ten: leave it out", MAX_MODULUS);
        return false;
    }
    step->modulus = (uint32_t)modulus;
    return true;
}

/* The part of the interval on one side of zero; negative numbers are given by their magnitudes. False
 * where a bound has too many digits. */
static bool
add_side(SundogSchemaCompiler *compiler, const Interval *interval, Step step, bool negative,
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
    Range range = {compiler, step, &low, side.has_high ? &high : NULL, step.n_fraction == 0, to};
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
    Step step = {.modulus = 1, .n_fraction = integer ? 0 : MAX_FRACTION};
    bool has_step = false;
    if (!read_interval(compiler, schema, &interval) ||
        !read_step(compiler, schema, integer, &step, &has_step))
        return SUNDOG_SCHEMA_FAILED;
    integer = step.n_fraction == 0;
    has_step = has_step && (step.modulus > 1 || !integer);
    if (!interval.has_low && !interval.has_high && !has_step)
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
    if (!add_side(compiler, &interval, step, false, from, to) ||
        !add_side(compiler, &interval, step, true, from, to))
        return sundog_schema_refuse(compiler, interval.has_low ? "minimum" : "maximum",
                                    "a bound has more digits than can be enforced");
    return to;
}
