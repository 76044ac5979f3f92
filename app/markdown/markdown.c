/* Which stretch of a growing Markdown text must be parsed again: only the last top-level node of its
 * complete lines, and the line that is still being written. */

#include "app/markdown/markdown.h"
#include "app/markdown/block.h"
#include <string.h>

struct SundogMarkdown {
    GString *text;
    GPtrArray *blocks;
    unsigned n_final;  /* blocks that are final */
    size_t final_end;  /* bytes of text that they came from */
    size_t lines_end;  /* bytes of complete lines that were searched for final nodes */
    size_t parsed_end; /* bytes that `blocks` shows */
};

SundogMarkdown *
sundog_markdown_new(void)
{
    SundogMarkdown *markdown = g_new0(SundogMarkdown, 1);
    markdown->text = g_string_new(NULL);
    markdown->blocks = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_block_free);
    return markdown;
}

void
sundog_markdown_free(SundogMarkdown *markdown)
{
    if (!markdown)
        return;
    g_string_free(markdown->text, TRUE);
    g_ptr_array_unref(markdown->blocks);
    g_free(markdown);
}

void
sundog_markdown_append(SundogMarkdown *markdown, const char *text, gssize n_bytes)
{
    g_string_append_len(markdown->text, text, n_bytes < 0 ? (gssize)strlen(text) : n_bytes);
}

const char *
sundog_markdown_get_text(SundogMarkdown *markdown)
{
    return markdown->text->str;
}

static void
drop_provisional(SundogMarkdown *markdown)
{
    if (markdown->blocks->len > markdown->n_final)
        g_ptr_array_remove_range(markdown->blocks, markdown->n_final,
                                 markdown->blocks->len - markdown->n_final);
}

/* Each node is parsed by itself, so that a link definition further down, which arrives later in a
 * stream, cannot change a block that is already final. */
static void
append_nodes(SundogMarkdown *markdown, const GArray *starts, unsigned n_nodes, size_t end)
{
    const char *tail = markdown->text->str + markdown->final_end;
    for (unsigned i = 0; i < n_nodes; i++) {
        size_t start = g_array_index(starts, size_t, i);
        size_t next = i + 1 < starts->len ? g_array_index(starts, size_t, i + 1) : end;
        sundog_blocks_append_source(markdown->blocks, tail + start, next - start);
    }
}

/* Only complete lines decide: an unfinished last line may still turn from a rule or a fence into the
 * continuation of the paragraph before it. */
static void
advance_final(SundogMarkdown *markdown, size_t lines_end)
{
    size_t n_tail = lines_end - markdown->final_end;
    g_autoptr(GArray) starts =
        sundog_blocks_find_starts(markdown->text->str + markdown->final_end, n_tail);
    markdown->lines_end = lines_end;
    if (starts->len < 2)
        return;
    append_nodes(markdown, starts, starts->len - 1, n_tail);
    markdown->n_final = markdown->blocks->len;
    markdown->final_end += g_array_index(starts, size_t, starts->len - 1);
}

static void
append_provisional(SundogMarkdown *markdown)
{
    size_t n_tail = markdown->text->len - markdown->final_end;
    g_autoptr(GArray) starts =
        sundog_blocks_find_starts(markdown->text->str + markdown->final_end, n_tail);
    append_nodes(markdown, starts, starts->len, n_tail);
}

GPtrArray *
sundog_markdown_get_blocks(SundogMarkdown *markdown, unsigned *n_final)
{
    if (markdown->parsed_end < markdown->text->len) {
        drop_provisional(markdown);
        const char *newline = memrchr(markdown->text->str, '\n', markdown->text->len);
        size_t lines_end = newline ? (size_t)(newline + 1 - markdown->text->str) : 0;
        if (lines_end > markdown->lines_end)
            advance_final(markdown, lines_end);
        append_provisional(markdown);
        markdown->parsed_end = markdown->text->len;
    }
    if (n_final)
        *n_final = markdown->n_final;
    return markdown->blocks;
}
