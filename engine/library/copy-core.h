#pragma once

/* A core under a second name: a folder of its own whose files are links to the first one's, so that it
 * takes no room. What is linked is never written again: cores are replaced whole. */

#include "engine/library/library.h"

/* A name that is taken or cannot be is an error. Where the file system has no links, files are copied. */
bool sundog_library_copy_core(SundogLibrary *library, const SundogLibraryEntry *core,
                              const char *name, GError **error);
