#pragma once

/* The Pango markup of a text block back to Markdown; what would be read as markup is escaped. Any
 * thread. */

/* Owned by the caller. Markup that block.c did not make may come back as it is. */
char *sundog_inline_markdown_dup(const char *markup);
