#pragma once

/* What the files of the safetensors reader share. Private to the format house. */

#include "engine/format/safetensors.h"

/* Which files a folder holds, in the order of their names. Owned by the caller, ends with NULL; an error
 * where there is none, or several that no index joins. Where an index joins them, *placed maps each
 * tensor's name to its file. */
char **sundog_safetensors_list_files(const char *folder, GHashTable **placed, GError **error);
