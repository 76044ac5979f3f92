/* Functions that every template sees. */

#include "engine/text/template/text.h"

#include <string.h>

/* As the sandbox has it. */
#define MAX_RANGE 100000

static SundogValue
global_raise_exception(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue message;
    if (sundog_arguments_bind(render, arguments, "raise_exception", "message", &message))
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RAISED, "%s",
                           sundog_string_text(render, sundog_value_print(render, message)));
    return SUNDOG_NONE;
}

static SundogValue
global_range(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue given[3];
    if (!sundog_arguments_bind(render, arguments, "range", "start | stop step", given))
        return SUNDOG_NONE;
    int64_t first = sundog_argument_integer(render, given[0], 0, "range");
    int64_t second = sundog_argument_integer(render, given[1], 0, "range");
    int64_t step = sundog_argument_integer(render, given[2], 1, "range");
    bool has_stop = given[1].kind != SUNDOG_VALUE_MISSING;
    int64_t start = has_stop ? first : 0, stop = has_stop ? second : first;
    SundogList *list = sundog_list_new(render, SUNDOG_LIST_RANGE);
    if (step == 0)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "range() arg 3 must not be zero");
    for (int64_t i = start; !sundog_render_failed(render) && (step > 0 ? i < stop : i > stop);) {
        if (list->n_items == MAX_RANGE)
            sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_LIMIT,
                               "range() makes more than %d numbers", MAX_RANGE);
        sundog_list_append(render, list, sundog_value_integer(i));
        if (__builtin_add_overflow(i, step, &i))
            break;
    }
    return sundog_value_list(list);
}

static SundogDict *
gather_members(SundogRender *render, const SundogArguments *arguments, const char *function)
{
    SundogDict *dict = sundog_dict_new(render);
    if (arguments->n_positional > 1 ||
        (arguments->n_positional == 1 && arguments->positional[0].kind != SUNDOG_VALUE_DICT)) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "%s() takes one mapping and named arguments", function);
        return dict;
    }
    const SundogDict *base = arguments->n_positional == 1 ? arguments->positional[0].dict : NULL;
    for (size_t i = 0; base != NULL && i < base->n_entries; i++)
        sundog_dict_set(render, dict, base->entries[i].key, base->entries[i].value);
    for (size_t i = 0; i < arguments->n_named; i++)
        sundog_dict_set(render, dict, sundog_value_literal(render, arguments->names[i]),
                        arguments->named[i]);
    return dict;
}

static SundogValue
global_dict(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return (SundogValue){.kind = SUNDOG_VALUE_DICT,
                         .dict = gather_members(render, arguments, "dict")};
}

static SundogValue
global_namespace(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return (SundogValue){.kind = SUNDOG_VALUE_NAMESPACE,
                         .dict = gather_members(render, arguments, "namespace")};
}

/* Local time, in English whatever the locale: a prompt must not depend on the machine's language. */
static void
append_time(GString *text, GDateTime *time, char conversion)
{
    static const char *const days[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                       "Friday", "Saturday", "Sunday"};
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    const char *day = days[g_date_time_get_day_of_week(time) - 1];
    const char *month = months[g_date_time_get_month(time) - 1];
    int hour = g_date_time_get_hour(time);
    switch (conversion) {
    case 'a':
        g_string_append_len(text, day, 3);
        break;
    case 'A':
        g_string_append(text, day);
        break;
    case 'b':
    case 'h':
        g_string_append_len(text, month, 3);
        break;
    case 'B':
        g_string_append(text, month);
        break;
    case 'd':
        g_string_append_printf(text, "%02d", g_date_time_get_day_of_month(time));
        break;
    case 'e':
        g_string_append_printf(text, "%2d", g_date_time_get_day_of_month(time));
        break;
    case 'F':
        append_time(text, time, 'Y');
        g_string_append_printf(text, "-%02d-%02d", g_date_time_get_month(time),
                               g_date_time_get_day_of_month(time));
        break;
    case 'H':
        g_string_append_printf(text, "%02d", hour);
        break;
    case 'I':
        g_string_append_printf(text, "%02d", hour % 12 == 0 ? 12 : hour % 12);
        break;
    case 'j':
        g_string_append_printf(text, "%03d", g_date_time_get_day_of_year(time));
        break;
    case 'm':
        g_string_append_printf(text, "%02d", g_date_time_get_month(time));
        break;
    case 'M':
        g_string_append_printf(text, "%02d", g_date_time_get_minute(time));
        break;
    case 'p':
        g_string_append(text, hour < 12 ? "AM" : "PM");
        break;
    case 'S':
        g_string_append_printf(text, "%02d", g_date_time_get_second(time));
        break;
    case 'T':
        g_string_append_printf(text, "%02d:%02d:%02d", hour, g_date_time_get_minute(time),
                               g_date_time_get_second(time));
        break;
    case 'y':
        g_string_append_printf(text, "%02d", g_date_time_get_year(time) % 100);
        break;
    case 'Y':
        g_string_append_printf(text, "%d", g_date_time_get_year(time));
        break;
    case 'Z':
        g_string_append(text, g_date_time_get_timezone_abbreviation(time));
        break;
    case '%':
        g_string_append_c(text, '%');
        break;
    default:
        g_string_append_printf(text, "%%%c", conversion);
    }
}

/* `%-d` and its like are without padding. */
static const char *
append_unpadded(GString *text, GDateTime *time, const char *at)
{
    g_autoptr(GString) part = g_string_new(NULL);
    append_time(part, time, *at);
    const char *digits = part->str;
    while ((*digits == '0' || *digits == ' ') && digits[1] != '\0')
        digits++;
    g_string_append(text, digits);
    return at;
}

static SundogValue
global_strftime_now(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue format;
    if (!sundog_arguments_bind(render, arguments, "strftime_now", "format", &format))
        return SUNDOG_NONE;
    const SundogString *given = sundog_argument_string(render, format, "strftime_now");
    g_autoptr(GDateTime) seconds = g_date_time_new_from_unix_local(render->now_us / G_USEC_PER_SEC);
    g_autoptr(GDateTime) time =
        seconds != NULL ? g_steal_pointer(&seconds) : g_date_time_new_from_unix_local(0);
    g_autoptr(GString) text = g_string_new(NULL);
    for (const char *at = sundog_string_text(render, given); *at != '\0'; at++)
        if (*at != '%' || at[1] == '\0')
            g_string_append_c(text, *at);
        else if (at[1] == '-' && at[2] != '\0')
            at = append_unpadded(text, time, at + 2);
        else
            append_time(text, time, *++at);
    bool trusted = sundog_string_is_trusted(render, given);
    return sundog_value_string(sundog_string_new(render, text->str, text->len, trusted));
}

static const SundogCallableRow globals[] = {
    {"dict", global_dict},
    {"namespace", global_namespace},
    {"raise_exception", global_raise_exception},
    {"range", global_range},
    {"strftime_now", global_strftime_now},
};

SundogCallable
sundog_template_find_global(const char *name)
{
    return sundog_callable_find(globals, G_N_ELEMENTS(globals), name);
}
