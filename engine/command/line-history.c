/* Lines that were typed before. */

#include "engine/command/line-history.h"

#include <string.h>

#define MAX_LINES 1000u
#define MAX_FILE_BYTES (4u << 20)

struct SundogLineHistory {
    char *path;
    GPtrArray *lines;
};

/* A line of the file is one entry, its own line ends and backslashes escaped. */
static void
load(SundogLineHistory *history)
{
    g_autofree char *text = NULL;
    gsize n_bytes;
    if (!g_file_get_contents(history->path, &text, &n_bytes, NULL) || n_bytes > MAX_FILE_BYTES ||
        !g_utf8_validate(text, (gssize)n_bytes, NULL))
        return;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        g_autofree char *entry = g_strcompress(*line);
        if (*entry != '\0' && g_utf8_validate(entry, -1, NULL))
            g_ptr_array_add(history->lines, g_steal_pointer(&entry));
    }
    if (history->lines->len > MAX_LINES)
        g_ptr_array_remove_range(history->lines, 0, history->lines->len - MAX_LINES);
}

static char *
dup_escaped(const char *line)
{
    /* All bytes above ASCII stay as they are, so that the file can be read. */
    g_autofree char *exceptions = g_malloc0(129);
    for (int i = 0; i < 128; i++)
        exceptions[i] = (char)(128 + i);
    return g_strescape(line, exceptions);
}

static void
save(const SundogLineHistory *history)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < history->lines->len; i++) {
        g_autofree char *escaped = dup_escaped(history->lines->pdata[i]);
        g_string_append_printf(text, "%s\n", escaped);
    }
    g_file_set_contents_full(history->path, text->str, (gssize)text->len,
                             G_FILE_SET_CONTENTS_CONSISTENT, 0600, NULL);
}

SundogLineHistory *
sundog_line_history_new(const char *path)
{
    SundogLineHistory *history = g_new0(SundogLineHistory, 1);
    history->path = g_strdup(path);
    history->lines = g_ptr_array_new_with_free_func(g_free);
    if (path != NULL)
        load(history);
    return history;
}

void
sundog_line_history_free(SundogLineHistory *history)
{
    if (history == NULL)
        return;
    g_free(history->path);
    g_ptr_array_unref(history->lines);
    g_free(history);
}

unsigned
sundog_line_history_get_n_lines(const SundogLineHistory *history)
{
    return history->lines->len;
}

const char *
sundog_line_history_get_line(const SundogLineHistory *history, unsigned index)
{
    return history->lines->pdata[index];
}

void
sundog_line_history_add(SundogLineHistory *history, const char *line)
{
    guint n = history->lines->len;
    if (*line == '\0' || (n > 0 && strcmp(history->lines->pdata[n - 1], line) == 0))
        return;
    g_ptr_array_add(history->lines, g_strdup(line));
    if (n + 1 > MAX_LINES)
        g_ptr_array_remove_index(history->lines, 0);
    if (history->path != NULL)
        save(history);
}
