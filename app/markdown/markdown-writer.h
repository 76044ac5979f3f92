#pragma once

/*
 * Blocks back to Markdown, for what a person copies. Parsing what it writes gives the same blocks again,
 * but for images, which come out as links, and for how far list items stand apart.
 *
 * Order: new, then add_block from top to bottom, finish. Any one thread.
 */

#include "app/markdown/markdown.h"

typedef struct SundogMarkdownWriter SundogMarkdownWriter;

SundogMarkdownWriter *sundog_markdown_writer_new(void);
/* A whole block with its markers; `text` and `rows` as markdown.h has them. */
void sundog_markdown_writer_add_block(SundogMarkdownWriter *writer, const SundogBlock *block);
/* Frees the writer and returns what it wrote, without an end of line; owned by the caller. */
char *sundog_markdown_writer_finish(SundogMarkdownWriter *writer);
