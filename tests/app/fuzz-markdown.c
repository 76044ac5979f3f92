/* Any bytes as Markdown: the blocks are markup that a label accepts, whole and cut, are the same whether the
 * text came whole or in two pieces, and can be written again. */

#include "app/markdown/markdown-writer.h"
#include "app/markdown/markup.h"
#include <pango/pango.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

const char *const fuzz_seeds[] = {
    "# A **b** *c* `d` [e](https://f.org)\n\n- [x] g\n  1. h\n\n> i\n\n| a | b |\n|--|--:|\n| 1 | "
    "2 |\n",
    "```c\nint x;\n```\n\n~~~\ny\n~~~\n---\n***\n[foo]: /url \"t\"\n[foo] ![i](j) <b>k</b> &amp; "
    "\\* ~~l~~",
    "a\n===\nb\n---\nc | d\n--|--\n<div>\n</div>\n\n    code\n\n1) x\n2) y\r\nhttps://a.org "
    "www.b.org\n",
    NULL,
};

static void
assert_markup(const char *text)
{
    /* Links are the label's own and unknown to Pango. */
    g_autoptr(GString) plain = g_string_new(NULL);
    for (const char *p = text; *p; p++)
        if (g_str_has_prefix(p, "<a ") || g_str_has_prefix(p, "</a>"))
            p = strchr(p, '>');
        else
            g_string_append_c(plain, *p);
    g_autoptr(GError) error = NULL;
    if (!pango_parse_markup(plain->str, -1, 0, NULL, NULL, NULL, &error))
        g_error("%s in: %s", error->message, text);
}

static void
assert_text(const char *text)
{
    assert_markup(text);
    g_autofree char *cut = sundog_markup_dup_stretch(text, 2, 9);
    assert_markup(cut);
}

static void
assert_blocks(GPtrArray *blocks)
{
    SundogMarkdownWriter *writer = sundog_markdown_writer_new();
    for (unsigned i = 0; i < blocks->len; i++) {
        const SundogBlock *block = blocks->pdata[i];
        for (unsigned row = 0; block->rows && row < block->rows->len; row++) {
            const GPtrArray *cells = block->rows->pdata[row];
            for (unsigned cell = 0; cell < cells->len; cell++)
                assert_text(cells->pdata[cell]);
        }
        if (block->kind == SUNDOG_BLOCK_TEXT || block->kind == SUNDOG_BLOCK_HEADING)
            assert_text(block->text);
        sundog_markdown_writer_add_block(writer, block);
    }
    g_autofree char *written = sundog_markdown_writer_finish(writer);
    g_assert_true(g_utf8_validate(written, -1, NULL));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const char *text = (const char *)data;
    size_t n_first = n_bytes ? data[0] % n_bytes : 0;
    g_autoptr(SundogMarkdown) whole = sundog_markdown_new();
    g_autoptr(SundogMarkdown) pieces = sundog_markdown_new();
    sundog_markdown_append(whole, text, n_bytes);
    sundog_markdown_append(pieces, text, n_first);
    sundog_markdown_get_blocks(pieces, NULL);
    sundog_markdown_append(pieces, text + n_first, n_bytes - n_first);
    GPtrArray *a = sundog_markdown_get_blocks(whole, NULL);
    GPtrArray *b = sundog_markdown_get_blocks(pieces, NULL);
    assert_blocks(a);
    g_assert_cmpuint(a->len, ==, b->len);
    for (unsigned i = 0; i < a->len; i++)
        g_assert_true(sundog_block_equal(a->pdata[i], b->pdata[i]));
    return 0;
}
