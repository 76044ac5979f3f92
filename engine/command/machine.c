/* What this machine has. */

#include "engine/command/machine.h"

#include "kernels/host/kernels.h"
#include <gio/gio.h>
#include <string.h>

/* The text after "name", a colon and spaces, up to the line's end; owned by the caller. */
static char *
dup_field(const char *path, const char *name)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return NULL;
    const char *line = strstr(text, name);
    const char *colon = line != NULL ? strchr(line, ':') : NULL;
    if (colon == NULL)
        return NULL;
    return g_strstrip(g_strndup(colon + 1, strcspn(colon + 1, "\n")));
}

char *
sundog_machine_dup_processor(void)
{
    char *name = dup_field("/proc/cpuinfo", "model name");
    return name != NULL ? name : g_strdup("processor");
}

const char *
sundog_machine_get_instructions(void)
{
    SundogHostSet set = sundog_host_detect();
    return set != SUNDOG_HOST_PLAIN ? sundog_host_set_name(set) : NULL;
}

bool
sundog_machine_get_memory(uint64_t *total, uint64_t *available)
{
    g_autofree char *all = dup_field("/proc/meminfo", "MemTotal");
    g_autofree char *rest = dup_field("/proc/meminfo", "MemAvailable");
    if (all == NULL || rest == NULL)
        return false;
    *total = g_ascii_strtoull(all, NULL, 10) * 1024;
    *available = g_ascii_strtoull(rest, NULL, 10) * 1024;
    return true;
}

bool
sundog_machine_get_disk(const char *folder, uint64_t *free_bytes, GError **error)
{
    g_autoptr(GFile) file = g_file_new_for_path(folder);
    g_autoptr(GFileInfo) info =
        g_file_query_filesystem_info(file, G_FILE_ATTRIBUTE_FILESYSTEM_FREE, NULL, error);
    if (info == NULL)
        return false;
    *free_bytes = g_file_info_get_attribute_uint64(info, G_FILE_ATTRIBUTE_FILESYSTEM_FREE);
    return true;
}

unsigned
sundog_machine_count_nvidia_devices(void)
{
    unsigned n = 0;
    g_autoptr(GDir) devices = g_dir_open("/dev", 0, NULL);
    for (const char *name; devices != NULL && (name = g_dir_read_name(devices)) != NULL;)
        n += g_str_has_prefix(name, "nvidia") && g_ascii_isdigit(name[strlen("nvidia")]);
    return n;
}

char *
sundog_machine_dup_nvidia_driver(void)
{
    return dup_field("/proc/driver/nvidia/version", "NVRM version");
}
