#pragma once

/* GGUF files in several parts: their names, and the joining of their directories. What takes a SundogGguf
 * is private to the format house. */

#include "engine/format/gguf-private.h"

/* One file of however many. */
SundogGguf *sundog_gguf_open_file(const char *path, GError **error);
/* How many parts a file says there are; 1 for a file that is whole. */
uint64_t sundog_gguf_split_count(const SundogGguf *gguf);
/* Opens the other parts of a first one, whose path is given, and takes their tensors. A part that is
 * missing, is of another model or stands in another's place is named in the error. */
bool sundog_gguf_split_join(SundogGguf *gguf, const char *path, GError **error);
