#pragma once

/* One block of Markdown and the walk that makes blocks from a parsed document; see markdown.h for
 * what a block holds. Any thread. */

#include "app/markdown/markdown.h"

SundogBlock *sundog_block_new(SundogBlockKind kind);
void sundog_block_free(SundogBlock *block);

/* Parses one self-contained stretch of source and appends its blocks to `blocks`. */
void sundog_blocks_append_source(GPtrArray *blocks, const char *source, size_t n_bytes);

/* Offsets in bytes at which the top-level nodes of a source begin, the first always 0, strictly
 * rising. Array of size_t, owned by the caller. */
GArray *sundog_blocks_find_starts(const char *source, size_t n_bytes);
