#pragma once

/*
 * Markdown, as it streams in, to a flat list of blocks: a block is what one widget shows.
 *
 * Containers (lists, quotes, items) are flattened into the depth of their leaves, and what would be
 * too large for one widget is split into continued blocks. A block before the last top-level node of
 * the complete lines is final: it never changes again, whatever is appended, so that only the tail is
 * parsed again. Blocks depend on the text alone, not on how it was cut into pieces.
 *
 * Order: new, then append and get_blocks as often as wished, free. Any one thread.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What one label or one code view still lays out within a frame. */
#define SUNDOG_BLOCK_MAX_TEXT_BYTES 4096
#define SUNDOG_BLOCK_MAX_CODE_BYTES 16384
#define SUNDOG_BLOCK_MAX_CODE_LINES 300
#define SUNDOG_BLOCK_MAX_TABLE_ROWS 64
#define SUNDOG_BLOCK_MAX_TABLE_COLUMNS 24
#define SUNDOG_BLOCK_MAX_DEPTH 8

typedef enum {
    SUNDOG_BLOCK_TEXT,
    SUNDOG_BLOCK_HEADING,
    SUNDOG_BLOCK_CODE,
    SUNDOG_BLOCK_TABLE,
    SUNDOG_BLOCK_RULE,
} SundogBlockKind;

typedef struct {
    SundogBlockKind kind;
    uint8_t level;     /* of a heading, from 1 */
    uint8_t n_quotes;  /* block quotes around it */
    uint8_t n_indents; /* list items around it */
    bool tight;        /* stands close to the block before, as in a tight list */
    bool continued;    /* goes on with the paragraph, card or table of the block before */
    char *marker;      /* "•", "3." or a box, where it begins a list item; else NULL */
    char *text;        /* TEXT and HEADING: Pango markup; CODE: the code, lines with their ends */
    char *language;    /* CODE: the first word of the fence, or NULL */
    GPtrArray *rows;   /* TABLE: GPtrArrays of cells in Pango markup; the first is the header */
    char *alignments;  /* TABLE: 'l', 'c' or 'r' a column */
} SundogBlock;

bool sundog_block_equal(const SundogBlock *a, const SundogBlock *b);

typedef struct SundogMarkdown SundogMarkdown;

SundogMarkdown *sundog_markdown_new(void);
void sundog_markdown_free(SundogMarkdown *markdown);
/* Text is UTF-8; n_bytes may be -1 for a NUL-terminated string. Parses nothing yet. */
void sundog_markdown_append(SundogMarkdown *markdown, const char *text, gssize n_bytes);
/* Parses what was appended. The array of SundogBlock is borrowed and holds until the next call;
 * *n_final (may be NULL) is how many of its first blocks will never change. */
GPtrArray *sundog_markdown_get_blocks(SundogMarkdown *markdown, unsigned *n_final);
/* The whole source; borrowed. */
const char *sundog_markdown_get_text(SundogMarkdown *markdown);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogMarkdown, sundog_markdown_free)
