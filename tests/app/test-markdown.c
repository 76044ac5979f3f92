/* Blocks of Markdown: what they hold, that they do not depend on how the text was cut into pieces,
 * and that hostile input stays bounded. */

#include "app/markdown/markdown.h"
#include <locale.h>
#include <pango/pango.h>
#include <string.h>

static GPtrArray *
parse(SundogMarkdown *markdown, const char *text)
{
    sundog_markdown_append(markdown, text, -1);
    return sundog_markdown_get_blocks(markdown, NULL);
}

static const char *const kinds[] = {"text", "heading", "code", "table", "rule"};

static char *
print_blocks(GPtrArray *blocks)
{
    GString *out = g_string_new(NULL);
    for (unsigned i = 0; i < blocks->len; i++) {
        const SundogBlock *block = blocks->pdata[i];
        g_string_append_printf(
            out, "%s level=%d quotes=%d indents=%d tight=%d cont=%d [%s] {%s} %s\n",
            kinds[block->kind], block->level, block->n_quotes, block->n_indents, block->tight,
            block->continued, block->marker ? block->marker : "",
            block->language ? block->language : "", block->text ? block->text : "");
        for (unsigned r = 0; block->rows && r < block->rows->len; r++) {
            GPtrArray *cells = block->rows->pdata[r];
            for (unsigned c = 0; c < cells->len; c++)
                g_string_append_printf(out, "|%s", (char *)cells->pdata[c]);
            g_string_append_c(out, '\n');
        }
    }
    return g_string_free(out, FALSE);
}

/* Whatever comes out must be markup that a label accepts. */
static void
assert_markup(GPtrArray *blocks)
{
    for (unsigned i = 0; i < blocks->len; i++) {
        const SundogBlock *block = blocks->pdata[i];
        g_autoptr(GError) error = NULL;
        g_autofree char *plain = NULL;
        if (block->kind != SUNDOG_BLOCK_TEXT && block->kind != SUNDOG_BLOCK_HEADING)
            continue;
        g_autoptr(GString) without_links = g_string_new(block->text);
        g_autoptr(GRegex) links = g_regex_new("</?a[^>]*>", 0, 0, NULL);
        plain = g_regex_replace(links, without_links->str, -1, 0, "", 0, NULL);
        g_assert_nonnull(plain);
        pango_parse_markup(plain, -1, 0, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
    }
}

static void
test_kinds(void)
{
    g_autoptr(SundogMarkdown) markdown = sundog_markdown_new();
    GPtrArray *blocks =
        parse(markdown, "# One & two\n\nA **bold** `x<y` [link](https://a.org/?b&c).\n\n"
                        "---\n\n```c\nint x;\n```\n\n> quoted\n\n"
                        "1. first\n2. second\n   - deep\n\n"
                        "- [x] done\n- [ ] open\n\n"
                        "| a | b |\n|---|--:|\n| 1 | 2 |\n");
    static const SundogBlockKind expected[] = {
        SUNDOG_BLOCK_HEADING, SUNDOG_BLOCK_TEXT, SUNDOG_BLOCK_RULE, SUNDOG_BLOCK_CODE,
        SUNDOG_BLOCK_TEXT,    SUNDOG_BLOCK_TEXT, SUNDOG_BLOCK_TEXT, SUNDOG_BLOCK_TEXT,
        SUNDOG_BLOCK_TEXT,    SUNDOG_BLOCK_TEXT, SUNDOG_BLOCK_TABLE};
    g_assert_cmpuint(blocks->len, ==, G_N_ELEMENTS(expected));
    for (unsigned i = 0; i < blocks->len; i++)
        g_assert_cmpint(((SundogBlock *)blocks->pdata[i])->kind, ==, expected[i]);
    assert_markup(blocks);
    SundogBlock **b = (SundogBlock **)blocks->pdata;
    g_assert_cmpstr(b[0]->text, ==, "One &amp; two");
    g_assert_cmpint(b[0]->level, ==, 1);
    g_assert_nonnull(strstr(b[1]->text, "<b>bold</b>"));
    g_assert_nonnull(strstr(b[1]->text, "x&lt;y"));
    g_assert_nonnull(strstr(b[1]->text, "href=\"https://a.org/?b&amp;c\""));
    g_assert_cmpstr(b[3]->language, ==, "c");
    g_assert_cmpstr(b[3]->text, ==, "int x;\n");
    g_assert_cmpint(b[4]->n_quotes, ==, 1);
    g_assert_cmpstr(b[6]->marker, ==, "2.");
    g_assert_cmpint(b[7]->n_indents, ==, 2);
    g_assert_cmpstr(b[8]->marker, ==, "☑");
    g_assert_cmpstr(b[9]->marker, ==, "☐");
    g_assert_cmpuint(b[10]->rows->len, ==, 2);
    g_assert_cmpstr(b[10]->alignments, ==, "lr");
}

static void
test_links(void)
{
    static const char *const refused[] = {"[x](file:///etc/passwd)", "[x](javascript:alert(1))",
                                          "[x](data:text/html,y)", "![x](../secret.png)"};
    for (unsigned i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autoptr(SundogMarkdown) markdown = sundog_markdown_new();
        SundogBlock *block = parse(markdown, refused[i])->pdata[0];
        g_assert_null(strstr(block->text, "<a "));
        g_assert_nonnull(strstr(block->text, "x"));
    }
}

static void
assert_split_invariant(const char *text, size_t n_bytes, GRand *rand)
{
    g_autoptr(SundogMarkdown) whole = sundog_markdown_new();
    sundog_markdown_append(whole, text, n_bytes);
    g_autofree char *expected = print_blocks(sundog_markdown_get_blocks(whole, NULL));
    assert_markup(sundog_markdown_get_blocks(whole, NULL));

    g_autoptr(SundogMarkdown) pieces = sundog_markdown_new();
    g_autofree char *final_before = g_strdup("");
    for (size_t i = 0; i < n_bytes;) {
        size_t n = g_rand_int_range(rand, 1, 6);
        n = MIN(n, n_bytes - i);
        sundog_markdown_append(pieces, text + i, n);
        i += n;
        unsigned n_final;
        GPtrArray *blocks = sundog_markdown_get_blocks(pieces, &n_final);
        g_autoptr(GPtrArray) final = g_ptr_array_new();
        for (unsigned b = 0; b < n_final; b++)
            g_ptr_array_add(final, blocks->pdata[b]);
        char *printed = print_blocks(final);
        if (!g_str_has_prefix(printed, final_before))
            g_error("a final block changed in:\n%.*s\nbefore:\n%s\nafter:\n%s", (int)n_bytes, text,
                    final_before, printed);
        g_free(final_before);
        final_before = printed;
    }
    g_autofree char *got = print_blocks(sundog_markdown_get_blocks(pieces, NULL));
    if (strcmp(got, expected) != 0)
        g_error("split changes the blocks of:\n%.*s\nwhole:\n%s\npieces:\n%s", (int)n_bytes, text,
                expected, got);
}

/* Pieces of Markdown that mean different things in different surroundings. */
static const char *const fragments[] = {"word",
                                        " ",
                                        "\n",
                                        "\n\n",
                                        "# ",
                                        "- ",
                                        "1. ",
                                        "> ",
                                        "```",
                                        "```c\n",
                                        "---",
                                        "===",
                                        "**",
                                        "*",
                                        "_",
                                        "`",
                                        "a | b",
                                        "\n--|--\n",
                                        "| x | y |\n",
                                        "[foo]",
                                        "[foo]: /url\n",
                                        "](x)",
                                        "~~",
                                        "    code",
                                        "<div>\n",
                                        "</div>",
                                        "<!-- ",
                                        "-->",
                                        "\t",
                                        "\\",
                                        "&amp;",
                                        "é漢🦊",
                                        "- [ ] ",
                                        "- [x] ",
                                        "\r\n",
                                        "+",
                                        "~~~\n",
                                        "https://a.org",
                                        "<b>",
                                        "2) "};

static void
test_split(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(20261130);
    int n_rounds = g_test_thorough() ? 20000 : 2500;
    for (int round = 0; round < n_rounds; round++) {
        g_autoptr(GString) text = g_string_new(NULL);
        int n_fragments = g_rand_int_range(rand, 1, 24);
        for (int i = 0; i < n_fragments; i++)
            g_string_append(text, fragments[g_rand_int_range(rand, 0, G_N_ELEMENTS(fragments))]);
        assert_split_invariant(text->str, text->len, rand);
    }
}

/* No block outgrows its bound, nothing is lost, and time stays linear in practice. */
static void
test_bounds(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < 20000; i++)
        g_string_append(text, "**word** ");
    g_string_append(text, "\n\n```\n");
    for (int i = 0; i < 4000; i++)
        g_string_append_printf(text, "line %d\n", i);
    g_string_append(text, "```\n\n");
    for (int i = 0; i < 300000; i++)
        g_string_append_c(text, 'x');
    g_autoptr(SundogMarkdown) markdown = sundog_markdown_new();
    GPtrArray *blocks = parse(markdown, text->str);
    size_t n_words = 0, n_code = 0, n_x = 0;
    for (unsigned i = 0; i < blocks->len; i++) {
        const SundogBlock *block = blocks->pdata[i];
        g_assert_cmpuint(strlen(block->text), <, 20000);
        if (block->kind == SUNDOG_BLOCK_CODE)
            n_code += strlen(block->text);
        for (const char *p = block->text; block->kind == SUNDOG_BLOCK_TEXT && *p; p++) {
            n_words += g_str_has_prefix(p, "word");
            n_x += *p == 'x';
        }
    }
    assert_markup(blocks);
    g_assert_cmpuint(n_words, ==, 20000);
    g_assert_cmpuint(n_code, ==, 4000 * 6 + 10 + 90 * 2 + 900 * 3 + 3000 * 4);
    g_assert_cmpuint(n_x, ==, 300000);
}

static void
test_hostile(void)
{
    g_autoptr(GString) nested = g_string_new(NULL);
    for (int i = 0; i < 20000; i++)
        g_string_append(nested, "> ");
    g_string_append(nested, "deep\n");
    for (int i = 0; i < 500; i++)
        g_string_append_printf(nested, "%*s- x\n", i * 2, "");
    g_autoptr(SundogMarkdown) markdown = sundog_markdown_new();
    GPtrArray *blocks = parse(markdown, nested->str);
    g_assert_cmpuint(blocks->len, >, 0);
    assert_markup(blocks);

    static const char bytes[] = "a\x01"
                                "b\x1f\xff\xfe c\xe6\xbc <\x7f>&#0; &#1; &#xFFFE; **x\x02**";
    g_autoptr(SundogMarkdown) odd = sundog_markdown_new();
    sundog_markdown_append(odd, bytes, sizeof bytes);
    assert_markup(sundog_markdown_get_blocks(odd, NULL));
}

int
main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/markdown/kinds", test_kinds);
    g_test_add_func("/markdown/links", test_links);
    g_test_add_func("/markdown/split", test_split);
    g_test_add_func("/markdown/bounds", test_bounds);
    g_test_add_func("/markdown/hostile", test_hostile);
    return g_test_run();
}
