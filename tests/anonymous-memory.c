/* From the kernel's page proc(5) of a process's status. */

#include "tests/anonymous-memory.h"

#include <glib.h>
#include <string.h>

static int64_t
get_bytes(const char *status, const char *name)
{
    const char *line = strstr(status, name);
    g_assert_nonnull(line);
    return g_ascii_strtoll(line + strlen(name), NULL, 10) * 1024;
}

int64_t
anonymous_memory_get(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid);
    g_autofree char *status = NULL;
    g_assert_true(g_file_get_contents(path, &status, NULL, NULL));
    return get_bytes(status, "\nRssAnon:") + get_bytes(status, "\nVmSwap:");
}
