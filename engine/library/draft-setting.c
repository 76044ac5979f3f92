/* The text of "engine.draft". */

#include "engine/library/config.h"
#include <string.h>

/* NAME stands for every variant and target of it. */
static bool
is_for(const char *name, const char *core)
{
    size_t n = strlen(name);
    return n > 0 && strncmp(name, core, n) == 0 && (core[n] == 0 || strchr(":@", core[n]) != NULL);
}

char *
sundog_config_dup_draft(const char *text, const char *core, bool *is_own)
{
    g_auto(GStrv) entries = g_strsplit(text, ",", -1);
    const char *for_all = NULL;
    *is_own = false;
    for (char **entry = entries; *entry; entry++) {
        char *name = g_strstrip(*entry), *small = strchr(name, '=');
        if (small == NULL) {
            for_all = *name ? name : for_all;
            continue;
        }
        *small++ = 0;
        if (is_for(g_strchomp(name), core)) {
            *is_own = true;
            return g_strdup(g_strstrip(small));
        }
    }
    return for_all != NULL && !is_for(for_all, core) ? g_strdup(for_all) : NULL;
}
