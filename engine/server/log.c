/* The log: a ring of lines. */

#include "engine/server/log.h"

#include <string.h>

#define MAX_LINES 2000
/* A child may write a line without end. */
#define MAX_TEXT_BYTES 4096

typedef struct {
    uint64_t number;
    int64_t time; /* microseconds since 1970 */
    int level;
    char *text;
} Line;

struct SundogLog {
    GQueue lines; /* Line, oldest first */
    uint64_t last_number;
};

static const char *const levels[] = {"debug", "info", "warning", "error"};

static int
find_level(const char *level)
{
    for (int i = 0; i < (int)G_N_ELEMENTS(levels); i++)
        if (g_strcmp0(levels[i], level) == 0)
            return i;
    return -1;
}

static void
line_free(void *data)
{
    Line *line = data;
    g_free(line->text);
    g_free(line);
}

SundogLog *
sundog_log_new(void)
{
    return g_new0(SundogLog, 1);
}

void
sundog_log_free(SundogLog *log)
{
    if (!log)
        return;
    g_queue_clear_full(&log->lines, line_free);
    g_free(log);
}

static JsonObject *
describe_line(const Line *line)
{
    g_autoptr(GDateTime) seconds = g_date_time_new_from_unix_utc(line->time / G_USEC_PER_SEC);
    g_autoptr(GDateTime) exact = g_date_time_add(seconds, line->time % G_USEC_PER_SEC);
    g_autofree char *time = g_date_time_format_iso8601(exact);
    JsonObject *object = json_object_new();
    json_object_set_int_member(object, "n", (gint64)line->number);
    json_object_set_string_member(object, "time", time);
    json_object_set_string_member(object, "level", levels[line->level]);
    json_object_set_string_member(object, "text", line->text);
    return object;
}

JsonObject *
sundog_log_add(SundogLog *log, const char *level, const char *text)
{
    Line *line = g_new0(Line, 1);
    line->number = ++log->last_number;
    line->time = g_get_real_time();
    line->level = MAX(find_level(level), 0);
    line->text = g_utf8_make_valid(text, (gssize)strnlen(text, MAX_TEXT_BYTES));
    g_queue_push_tail(&log->lines, line);
    if (log->lines.length > MAX_LINES)
        line_free(g_queue_pop_head(&log->lines));
    return describe_line(line);
}

JsonArray *
sundog_log_describe(const SundogLog *log, const char *level, uint64_t after)
{
    int lowest = level ? find_level(level) : 0;
    JsonArray *array = json_array_new();
    for (GList *link = log->lines.head; link; link = link->next) {
        const Line *line = link->data;
        if (line->number > after && line->level >= lowest)
            json_array_add_object_element(array, describe_line(line));
    }
    return array;
}

bool
sundog_log_level_is_known(const char *level)
{
    return find_level(level) >= 0;
}
