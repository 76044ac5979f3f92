/* Markdown to blocks and back: what is written is read as the same blocks. */

#include "app/markdown/block.h"
#include "app/markdown/inline-markdown.h"
#include "app/markdown/markdown-writer.h"
#include "app/markdown/markup.h"
#include <string.h>

static char *
write_again(const char *source)
{
    SundogMarkdown *markdown = sundog_markdown_new();
    sundog_markdown_append(markdown, source, -1);
    GPtrArray *blocks = sundog_markdown_get_blocks(markdown, NULL);
    SundogMarkdownWriter *writer = sundog_markdown_writer_new();
    for (unsigned i = 0; i < blocks->len; i++)
        sundog_markdown_writer_add_block(writer, blocks->pdata[i]);
    sundog_markdown_free(markdown);
    return sundog_markdown_writer_finish(writer);
}

static void
assert_same_blocks(const char *source, const char *written)
{
    SundogMarkdown *a = sundog_markdown_new(), *b = sundog_markdown_new();
    sundog_markdown_append(a, source, -1);
    sundog_markdown_append(b, written, -1);
    GPtrArray *wanted = sundog_markdown_get_blocks(a, NULL);
    GPtrArray *found = sundog_markdown_get_blocks(b, NULL);
    if (wanted->len != found->len)
        g_error("%u blocks became %u:\n%s\n---\n%s", wanted->len, found->len, source, written);
    for (unsigned i = 0; i < wanted->len; i++)
        if (!sundog_block_equal(wanted->pdata[i], found->pdata[i]))
            g_error("block %u is another:\n%s\n---\n%s", i, source, written);
    sundog_markdown_free(a);
    sundog_markdown_free(b);
}

static void
test_round_trip(void)
{
    static const char *const sources[] = {
        "Plain text\nin two lines\n\nand another.",
        "# One\n\n###### Six with `code`\n\nUnder\n=====\n",
        "**bold *and italic* text**, ~~gone~~, `a ``b` c`, snake_case and 2 * 3, \\*not this\\*",
        "- one\n- two\n  - inner\n    1. deep\n- three\n\nafter",
        "9. nine\n10. ten\n\n    a paragraph of ten\n\n11. eleven",
        "- [x] done\n- [ ] open\n",
        "- item\n\n  ```c\n  int x;\n\n    y;\n  ```\n- next",
        "> quoted\n> text\n>\n> - with an item\n>\n> and more\n\nout",
        "> > deep\n>\n> less",
        "```python\nprint('``` inside')\n```\n\n````\n```\n````\n\n    indented\n",
        "```\n```\n\nempty code above",
        "a\n\n---\n\nb\n\n***\n",
        "| a | b \\| c | d |\n|:--|--:|:-:|\n| *x* | `y` | [z](https://example.org) |\n| 1 |\n",
        "[text](https://example.org/a_(b)) and <https://example.org/x_y> and me@example.org",
        "1\\. no list\n\n\\# no heading\n\n\\- no item\n\n\\> no quote\n\n\\+ x\n\n2) real",
        "literal \\[a\\](b) and &amp;amp; and \\<b> and \\`tick\\`",
        "<div>\nraw & html\n</div>\n\ntext",
        "- \n- empty above",
        "Ünïcode — “quotes” 日本語 **太字** ok",
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(sources); i++) {
        g_autofree char *written = write_again(sources[i]);
        assert_same_blocks(sources[i], written);
    }
}

/* The usual forms come back letter by letter. */
static void
test_usual_forms(void)
{
    static const char source[] =
        "## Title\n\nSome **bold** and *italic* `code`.\n\n- one\n- two\n\n1. a\n2. b\n\n"
        "> quote\n\n```c\nint x;\n```\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n\n---\n\n"
        "- [x] done\n- [ ] [open](https://example.org/)";
    g_autofree char *written = write_again(source);
    g_assert_cmpstr(written, ==, source);
}

static void
test_long_blocks(void)
{
    GString *source = g_string_new("```c\n");
    for (int i = 0; i < 2 * SUNDOG_BLOCK_MAX_CODE_LINES + 5; i++)
        g_string_append_printf(source, "line %d;\n", i);
    g_string_append(source, "```\n\n| n |\n| --- |\n");
    for (int i = 0; i < 2 * SUNDOG_BLOCK_MAX_TABLE_ROWS + 5; i++)
        g_string_append_printf(source, "| %d |\n", i);
    g_string_append(source, "\n- ");
    for (int i = 0; i < SUNDOG_BLOCK_MAX_TEXT_BYTES; i++)
        g_string_append_printf(source, "w%d ", i);
    g_string_append(source, "end");
    g_autofree char *written = write_again(source->str);
    g_assert_cmpstr(written, ==, source->str);
    g_string_free(source, TRUE);
}

static void
assert_cut(const char *markup, unsigned start, unsigned end, const char *expected)
{
    g_autofree char *text = sundog_markup_dup_stretch(markup, start, end);
    g_assert_cmpstr(text, ==, expected);
}

/* Tags are open where they were, and none is empty. */
static void
test_cut(void)
{
    static const char markup[] = "one <b>two <i>three</i></b> &lt;<a href=\"x&amp;y\">fünf</a>";
    assert_cut(markup, 0, 1000, markup);
    assert_cut(markup, 0, 3, "one");
    assert_cut(markup, 2, 6, "e <b>tw</b>");
    assert_cut(markup, 8, 10, "<b><i>th</i></b>");
    assert_cut(markup, 14, 17, "&lt;<a href=\"x&amp;y\">fü</a>");
    assert_cut(markup, 5, 5, "");
    assert_cut("<b>never <i>closed", 0, 2, "<b>never <i>closed");
}

static void
test_broken_markup(void)
{
    g_autofree char *text = sundog_inline_markdown_dup("<b>never <span>closed");
    g_assert_cmpstr(text, ==, "<b>never <span>closed");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/markdown-writer/round-trip", test_round_trip);
    g_test_add_func("/markdown-writer/usual-forms", test_usual_forms);
    g_test_add_func("/markdown-writer/long-blocks", test_long_blocks);
    g_test_add_func("/markdown-writer/cut", test_cut);
    g_test_add_func("/markdown-writer/broken-markup", test_broken_markup);
    return g_test_run();
}
