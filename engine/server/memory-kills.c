/* Processes that were killed for want of memory. */

#include "engine/server/memory-kills.h"

#include <glib.h>
#include <string.h>

#define FIELD "\noom_kill "

uint64_t
sundog_memory_kills_count(const char *file)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(file ? file : "/proc/vmstat", &text, NULL, NULL))
        return 0;
    const char *field = strstr(text, FIELD);
    return field ? g_ascii_strtoull(field + strlen(FIELD), NULL, 10) : 0;
}
