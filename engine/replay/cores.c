/* Counting of cores, by the kernel's topology files (Documentation/admin-guide/cputopology.rst). */

#include "engine/replay/cores.h"

#include <glib.h>
#include <sched.h>

/* The hardware threads of a processor's core, as the kernel writes them; its own name where it does
 * not. */
static char *
dup_siblings(int processor)
{
    char *siblings;
    g_autofree char *path =
        g_strdup_printf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", processor);
    if (g_file_get_contents(path, &siblings, NULL, NULL))
        return siblings;
    return g_strdup_printf("%d", processor);
}

unsigned
sundog_count_cores(void)
{
    cpu_set_t allowed;
    g_autoptr(GHashTable) cores = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    /* Fails on machines of more processors than the set holds. */
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return g_get_num_processors();
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed))
            g_hash_table_add(cores, dup_siblings(i));
    return MAX(g_hash_table_size(cores), 1);
}
