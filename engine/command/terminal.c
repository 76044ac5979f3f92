/* Words for a person and lines for a program. */

#include "engine/command/terminal.h"

#include "engine/command/command.h"
#include "engine/format/json.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What progress wrote last: its line is open, or the percent that a program was told. */
static struct {
    bool open;
    int percent;
    char *phase;
} progress = {.percent = -1};

void
sundog_terminal_print_json(JsonObject *object)
{
    g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
    json_object_unref(object);
    g_autofree char *text = sundog_json_print(node, false);
    puts(text);
    fflush(stdout);
}

static void
tell_error(const char *text)
{
    sundog_terminal_progress_end();
    fprintf(stderr, "sundog: %s\n", text);
    if (!sundog_command_json)
        return;
    JsonObject *error = json_object_new();
    json_object_set_string_member(error, "message", text);
    JsonObject *object = json_object_new();
    json_object_set_object_member(object, "error", error);
    sundog_terminal_print_json(object);
}

void
sundog_terminal_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    tell_error(text);
}

int
sundog_terminal_fail(const GError *error)
{
    tell_error(error->message);
    return SUNDOG_EXIT_FAILED;
}

void
sundog_terminal_note(const char *format, ...)
{
    if (sundog_command_json)
        return;
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    sundog_terminal_progress_end();
    fprintf(stderr, "%s\n", text);
}

char *
sundog_terminal_dup_size(uint64_t n_bytes)
{
    return g_format_size(n_bytes);
}

static void
tell_program(const char *phase, double fraction)
{
    int percent = (int)(fraction * 100);
    if (percent == progress.percent && g_strcmp0(phase, progress.phase) == 0)
        return;
    progress.percent = percent;
    g_free(progress.phase);
    progress.phase = g_strdup(phase);
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "phase", phase);
    json_object_set_double_member(object, "fraction", fraction);
    sundog_terminal_print_json(object);
}

void
sundog_terminal_progress(const char *phase, const char *what, double fraction)
{
    fraction = CLAMP(fraction, 0, 1);
    if (sundog_command_json) {
        tell_program(phase, fraction);
    } else if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%s %3.0f %%", what, fraction * 100);
        progress.open = true;
    }
}

void
sundog_terminal_progress_end(void)
{
    if (progress.open)
        fputs("\r\033[K", stderr);
    progress.open = false;
}

bool
sundog_terminal_confirm(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *question = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    sundog_terminal_progress_end();
    fprintf(stderr, "%s [y/N] ", question);
    char answer[16];
    if (fgets(answer, sizeof answer, stdin) == NULL) {
        fputs("\n", stderr);
        return false;
    }
    return g_ascii_strcasecmp(g_strstrip(answer), "y") == 0 ||
           g_ascii_strcasecmp(answer, "yes") == 0;
}
