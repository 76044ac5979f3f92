/* A block a time: the quotes and indents around it before each of its lines, its marker before the first. */

#include "app/markdown/markdown-writer.h"
#include "app/markdown/inline-markdown.h"
#include <string.h>

struct SundogMarkdownWriter {
    GString *out;
    GString *code; /* of the code block that is still open: its later cards may follow; else NULL */
    SundogBlock code_block;
    char *code_language;
    unsigned widths[SUNDOG_BLOCK_MAX_DEPTH + 1]; /* of the markers written at each depth */
    unsigned n_quotes;                           /* of the block before */
};

static const char *
get_marker(const SundogBlock *block)
{
    const char *marker = block->marker;
    if (!marker)
        return "";
    return strcmp(marker, "•") == 0   ? "-"
           : strcmp(marker, "☑") == 0 ? "- [x]"
           : strcmp(marker, "☐") == 0 ? "- [ ]"
                                      : marker;
}

static void
append_quotes(SundogMarkdownWriter *self, unsigned n_quotes)
{
    for (unsigned i = 0; i < n_quotes; i++)
        g_string_append(self->out, "> ");
}

static void
append_prefix(SundogMarkdownWriter *self, const SundogBlock *block, unsigned n_indents)
{
    append_quotes(self, block->n_quotes);
    unsigned width = 0;
    for (unsigned i = 1; i <= MIN(n_indents, SUNDOG_BLOCK_MAX_DEPTH); i++)
        width += self->widths[i];
    g_string_append_printf(self->out, "%*s", (int)width, "");
}

/* Ends the block before: a blank line unless both stand close, inside the quotes that both are in. */
static void
separate(SundogMarkdownWriter *self, const SundogBlock *block)
{
    if (self->out->len > 0) {
        g_string_append_c(self->out, '\n');
        if (!block->tight || block->kind == SUNDOG_BLOCK_TABLE) {
            append_quotes(self, MIN(self->n_quotes, block->n_quotes));
            while (g_str_has_suffix(self->out->str, " "))
                g_string_truncate(self->out, self->out->len - 1);
            g_string_append_c(self->out, '\n');
        }
    }
    self->n_quotes = block->n_quotes;
}

static void
append_marker(SundogMarkdownWriter *self, const SundogBlock *block)
{
    const char *marker = get_marker(block);
    bool item = block->marker && block->n_indents > 0;
    append_prefix(self, block, block->n_indents - (item ? 1 : 0));
    if (!block->marker)
        return;
    g_string_append_printf(self->out, "%s ", marker);
    /* What belongs to a task stands under its box's bullet. */
    self->widths[block->n_indents] = g_str_has_prefix(marker, "-") ? 2 : strlen(marker) + 1;
}

static void
append_lines(SundogMarkdownWriter *self, const SundogBlock *block, const char *text)
{
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        g_string_append_len(self->out, text, end - text + 1);
        append_prefix(self, block, block->n_indents);
    }
    g_string_append(self->out, text);
}

static void
close_code(SundogMarkdownWriter *self)
{
    if (!self->code)
        return;
    size_t n_ticks = 3;
    for (const char *p = self->code->str; (p = strchr(p, '`'));) {
        size_t n = strspn(p, "`");
        n_ticks = MAX(n_ticks, n + 1);
        p += n;
    }
    g_autofree char *fence = g_strnfill(n_ticks, '`');
    g_autoptr(GString) code = g_steal_pointer(&self->code);
    if (code->len > 0 && code->str[code->len - 1] != '\n')
        g_string_append_c(code, '\n');
    g_string_prepend_c(code, '\n');
    g_string_prepend(code, self->code_language ? self->code_language : "");
    g_string_prepend(code, fence);
    g_string_append(code, fence);
    append_lines(self, &self->code_block, code->str);
    g_clear_pointer(&self->code_language, g_free);
}

static void
open_code(SundogMarkdownWriter *self, const SundogBlock *block)
{
    separate(self, block);
    append_marker(self, block);
    self->code = g_string_new(NULL);
    self->code_language = g_strdup(block->language);
    self->code_block = (SundogBlock){.n_quotes = block->n_quotes, .n_indents = block->n_indents};
}

static void
append_row(SundogMarkdownWriter *self, const GPtrArray *cells, unsigned n_columns)
{
    for (unsigned i = 0; i < n_columns; i++) {
        g_autofree char *text = sundog_inline_markdown_dup(i < cells->len ? cells->pdata[i] : "");
        g_string_append(self->out, "| ");
        for (const char *p = text; *p; p++)
            g_string_append_printf(self->out, *p == '|' ? "\\%c" : "%c", *p == '\n' ? ' ' : *p);
        g_string_append_c(self->out, ' ');
    }
    g_string_append_c(self->out, '|');
}

static void
append_alignments(SundogMarkdownWriter *self, const char *alignments)
{
    for (; *alignments; alignments++)
        g_string_append(self->out, *alignments == 'r'   ? "| ---: "
                                   : *alignments == 'c' ? "| :---: "
                                                        : "| --- ");
    g_string_append_c(self->out, '|');
}

static void
append_table(SundogMarkdownWriter *self, const SundogBlock *block)
{
    unsigned n_columns = strlen(block->alignments);
    for (unsigned i = 0; i < block->rows->len; i++) {
        if (i > 0) {
            g_string_append_c(self->out, '\n');
            append_prefix(self, block, block->n_indents);
        }
        append_row(self, block->rows->pdata[i], n_columns);
        if (i == 0 && !block->continued) {
            g_string_append_c(self->out, '\n');
            append_prefix(self, block, block->n_indents);
            append_alignments(self, block->alignments);
        }
    }
}

static void
append_heading(SundogMarkdownWriter *self, const SundogBlock *block)
{
    g_autofree char *text = sundog_inline_markdown_dup(block->text);
    if (!block->continued)
        for (unsigned i = 0; i < MAX(block->level, 1); i++)
            g_string_append_c(self->out, '#');
    g_string_append_printf(self->out, "%s%s", block->continued ? "" : " ",
                           g_strdelimit(text, "\n", ' '));
}

static void
append_text(SundogMarkdownWriter *self, const SundogBlock *block)
{
    g_autofree char *text = sundog_inline_markdown_dup(block->text);
    append_lines(self, block, text);
}

SundogMarkdownWriter *
sundog_markdown_writer_new(void)
{
    SundogMarkdownWriter *writer = g_new0(SundogMarkdownWriter, 1);
    writer->out = g_string_new(NULL);
    return writer;
}

void
sundog_markdown_writer_add_block(SundogMarkdownWriter *writer, const SundogBlock *block)
{
    bool goes_on = block->continued && writer->out->len > 0;
    if (block->kind == SUNDOG_BLOCK_CODE) {
        if (!writer->code || !block->continued) {
            close_code(writer);
            open_code(writer, block);
        }
        g_string_append(writer->code, block->text);
        return;
    }
    close_code(writer);
    if (goes_on && block->kind == SUNDOG_BLOCK_TABLE) {
        g_string_append_c(writer->out, '\n');
        append_prefix(writer, block, block->n_indents);
    } else if (!goes_on) {
        separate(writer, block);
        append_marker(writer, block);
    }
    if (block->kind == SUNDOG_BLOCK_TABLE)
        append_table(writer, block);
    else if (block->kind == SUNDOG_BLOCK_RULE)
        /* Hyphens right below a paragraph would make a heading of it. */
        g_string_append(writer->out, block->tight ? "***" : "---");
    else if (block->kind == SUNDOG_BLOCK_HEADING)
        append_heading(writer, block);
    else
        append_text(writer, block);
}

char *
sundog_markdown_writer_finish(SundogMarkdownWriter *writer)
{
    close_code(writer);
    char *text = g_string_free(writer->out, FALSE);
    g_free(writer);
    return text;
}
