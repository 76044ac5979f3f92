/* From cmark-gfm's tree to flat blocks with Pango markup. The walk is iterative, so that hostile
 * nesting costs no stack. */

#include "app/markdown/block.h"
#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm-extension_api.h>
#include <cmark-gfm.h>
#include <string.h>

typedef struct {
    bool ordered;
    int next;
    bool tight;
} List;

typedef struct {
    GPtrArray *blocks;
    unsigned n_quotes;
    unsigned n_items;
    GArray *lists;      /* of List, the open ones */
    char *marker;       /* of an item that no block has taken yet */
    bool after_tight;   /* the next block of this item stands close */
    SundogBlock *inner; /* the open paragraph or heading */
    GString *markup;    /* of the open paragraph, heading or cell */
    GPtrArray *open;    /* closing tags of what is open in markup, innermost last */
    GPtrArray *reopen;  /* their opening tags */
    GPtrArray *cells;   /* the open table row */
    SundogBlock *table;
} Walk;

SundogBlock *
sundog_block_new(SundogBlockKind kind)
{
    SundogBlock *block = g_new0(SundogBlock, 1);
    block->kind = kind;
    return block;
}

void
sundog_block_free(SundogBlock *block)
{
    if (!block)
        return;
    g_free(block->marker);
    g_free(block->text);
    g_free(block->language);
    g_free(block->alignments);
    if (block->rows)
        g_ptr_array_unref(block->rows);
    g_free(block);
}

static bool
rows_equal(const GPtrArray *a, const GPtrArray *b)
{
    if (!a || !b)
        return a == b;
    if (a->len != b->len)
        return false;
    for (unsigned i = 0; i < a->len; i++) {
        const GPtrArray *x = a->pdata[i], *y = b->pdata[i];
        if (x->len != y->len)
            return false;
        for (unsigned j = 0; j < x->len; j++)
            if (strcmp(x->pdata[j], y->pdata[j]) != 0)
                return false;
    }
    return true;
}

bool
sundog_block_equal(const SundogBlock *a, const SundogBlock *b)
{
    return a->kind == b->kind && a->level == b->level && a->n_quotes == b->n_quotes &&
           a->n_indents == b->n_indents && a->tight == b->tight && a->continued == b->continued &&
           g_strcmp0(a->marker, b->marker) == 0 && g_strcmp0(a->text, b->text) == 0 &&
           g_strcmp0(a->language, b->language) == 0 &&
           g_strcmp0(a->alignments, b->alignments) == 0 && rows_equal(a->rows, b->rows);
}

static bool
stands_tight(Walk *walk)
{
    return walk->lists->len > 0 && g_array_index(walk->lists, List, walk->lists->len - 1).tight;
}

static SundogBlock *
push_block(Walk *walk, SundogBlockKind kind)
{
    SundogBlock *block = sundog_block_new(kind);
    block->n_quotes = MIN(walk->n_quotes, SUNDOG_BLOCK_MAX_DEPTH);
    block->n_indents = MIN(walk->n_items, SUNDOG_BLOCK_MAX_DEPTH);
    block->marker = g_steal_pointer(&walk->marker);
    block->tight = walk->after_tight;
    walk->after_tight = stands_tight(walk);
    g_ptr_array_add(walk->blocks, block);
    return block;
}

static SundogBlock *
push_continued(Walk *walk, const SundogBlock *before)
{
    SundogBlock *block = sundog_block_new(before->kind);
    block->level = before->level;
    block->n_quotes = before->n_quotes;
    block->n_indents = before->n_indents;
    block->language = g_strdup(before->language);
    block->alignments = g_strdup(before->alignments);
    block->continued = true;
    block->tight = true;
    g_ptr_array_add(walk->blocks, block);
    return block;
}

static void
open_tag(Walk *walk, const char *opening, const char *closing)
{
    g_string_append(walk->markup, opening);
    g_ptr_array_add(walk->reopen, g_strdup(opening));
    g_ptr_array_add(walk->open, g_strdup(closing));
}

static void
close_tag(Walk *walk)
{
    g_return_if_fail(walk->open->len > 0);
    g_string_append(walk->markup, walk->open->pdata[walk->open->len - 1]);
    g_ptr_array_set_size(walk->open, walk->open->len - 1);
    g_ptr_array_set_size(walk->reopen, walk->reopen->len - 1);
}

/* Ends the open paragraph's block and goes on in a continued one, with the same tags open. */
static void
split_inner(Walk *walk)
{
    for (unsigned i = walk->open->len; i > 0; i--)
        g_string_append(walk->markup, walk->open->pdata[i - 1]);
    walk->inner->text = g_strdup(walk->markup->str);
    walk->inner = push_continued(walk, walk->inner);
    g_string_truncate(walk->markup, 0);
    for (unsigned i = 0; i < walk->reopen->len; i++)
        g_string_append(walk->markup, walk->reopen->pdata[i]);
}

/* Control characters have no glyph, and Pango refuses some of them as references. */
static void
append_escaped(GString *markup, const char *text, const char *end)
{
    const char *run = text;
    for (const char *p = text; p < end; p++) {
        if ((unsigned char)*p >= 0x20 || *p == '\n' || *p == '\t')
            continue;
        g_autofree char *before = g_markup_escape_text(run, p - run);
        g_string_append(markup, before);
        run = p + 1;
    }
    g_autofree char *rest = g_markup_escape_text(run, end - run);
    g_string_append(markup, rest);
}

/* Where the next piece of text ends: after a space once the block is full, at any character once it
 * is twice as full, so that a text without spaces is bounded too. */
static const char *
find_piece_end(const char *text, size_t n_used)
{
    const char *p = text;
    while (*p) {
        n_used += 1;
        bool space = *p == ' ' || *p == '\n';
        p = g_utf8_next_char(p);
        if ((space && n_used > SUNDOG_BLOCK_MAX_TEXT_BYTES) ||
            n_used > 2 * SUNDOG_BLOCK_MAX_TEXT_BYTES)
            return p;
    }
    return p;
}

/* The parser itself writes bytes that are no UTF-8 for some character references ("&#xFFFE;"). */
static void
append_text(Walk *walk, const char *literal)
{
    g_autofree char *valid = g_utf8_make_valid(literal ? literal : "", -1);
    const char *text = valid;
    if (!walk->inner) {
        append_escaped(walk->markup, text, text + strlen(text));
        return;
    }
    while (*text) {
        const char *end = find_piece_end(text, walk->markup->len);
        append_escaped(walk->markup, text, end);
        if (*end || walk->markup->len > 2 * SUNDOG_BLOCK_MAX_TEXT_BYTES)
            split_inner(walk);
        text = end;
    }
}

static bool
is_safe_link(const char *url)
{
    return url && (g_ascii_strncasecmp(url, "https://", 8) == 0 ||
                   g_ascii_strncasecmp(url, "http://", 7) == 0 ||
                   g_ascii_strncasecmp(url, "mailto:", 7) == 0);
}

/* A link says where it goes in its tooltip. Others than web and mail addresses stay text: a model
 * could otherwise offer to open a local file or start a program. */
static void
open_link(Walk *walk, const char *url)
{
    if (!is_safe_link(url) || !g_utf8_validate(url, -1, NULL)) {
        open_tag(walk, "<u>", "</u>");
        return;
    }
    g_autofree char *opening = g_markup_printf_escaped("<a href=\"%s\" title=\"%s\">", url, url);
    GString *clean = g_string_new(NULL);
    for (const char *p = opening; *p; p++)
        if ((unsigned char)*p >= 0x20)
            g_string_append_c(clean, *p);
    open_tag(walk, clean->str, "</a>");
    g_string_free(clean, TRUE);
}

static void
begin_inner(Walk *walk, SundogBlock *block)
{
    walk->inner = block;
    g_string_truncate(walk->markup, 0);
}

static void
end_inner(Walk *walk)
{
    if (walk->inner) {
        g_free(walk->inner->text);
        walk->inner->text = g_strdup(walk->markup->str);
    }
    walk->inner = NULL;
}

/* How many bytes of code go into one block: whole lines up to either bound. */
static size_t
count_code_bytes(const char *code)
{
    size_t n_lines = 0, last_line_end = 0, i = 0;
    while (code[i] && i < SUNDOG_BLOCK_MAX_CODE_BYTES && n_lines < SUNDOG_BLOCK_MAX_CODE_LINES)
        if (code[i++] == '\n') {
            n_lines++;
            last_line_end = i;
        }
    if (!code[i])
        return i;
    if (last_line_end > 0)
        return last_line_end;
    while (i > 0 && ((unsigned char)code[i] & 0xC0) == 0x80)
        i--;
    return i;
}

static void
push_code(Walk *walk, const char *literal, const char *info)
{
    g_autofree char *valid = g_utf8_make_valid(literal ? literal : "", -1);
    const char *code = valid;
    SundogBlock *block = push_block(walk, SUNDOG_BLOCK_CODE);
    size_t n_language = info ? strcspn(info, " \t,{") : 0;
    block->language = n_language > 0 ? g_strndup(info, MIN(n_language, 40)) : NULL;
    if (block->language && !g_utf8_validate(block->language, -1, NULL))
        g_clear_pointer(&block->language, g_free);
    for (;;) {
        size_t n_bytes = count_code_bytes(code);
        block->text = g_strndup(code, n_bytes);
        code += n_bytes;
        if (!*code)
            return;
        block = push_continued(walk, block);
    }
}

/* Text that only looks like markup is shown as it was written. */
static void
push_html(Walk *walk, const char *html)
{
    begin_inner(walk, push_block(walk, SUNDOG_BLOCK_TEXT));
    g_autofree char *text = g_strchomp(g_strdup(html ? html : ""));
    append_text(walk, text);
    end_inner(walk);
}

static void
begin_item(Walk *walk, cmark_node *node)
{
    List *list = &g_array_index(walk->lists, List, walk->lists->len - 1);
    g_free(walk->marker);
    if (strcmp(cmark_node_get_type_string(node), "tasklist") == 0)
        walk->marker = g_strdup(cmark_gfm_extensions_get_tasklist_item_checked(node) ? "☑" : "☐");
    else if (list->ordered)
        walk->marker = g_strdup_printf("%d.", list->next++);
    else
        walk->marker = g_strdup("•");
    walk->n_items++;
}

/* An item without a block of its own still shows its marker. */
static void
end_item(Walk *walk)
{
    if (walk->marker)
        push_block(walk, SUNDOG_BLOCK_TEXT)->text = g_strdup("");
    walk->n_items--;
}

static void
begin_list(Walk *walk, cmark_node *node)
{
    List list = {.ordered = cmark_node_get_list_type(node) == CMARK_ORDERED_LIST,
                 .next = cmark_node_get_list_start(node),
                 .tight = cmark_node_get_list_tight(node)};
    if (walk->marker)
        push_block(walk, SUNDOG_BLOCK_TEXT)->text = g_strdup("");
    walk->after_tight = walk->lists->len > 0;
    g_array_append_val(walk->lists, list);
}

static void
begin_table(Walk *walk, cmark_node *node)
{
    walk->table = push_block(walk, SUNDOG_BLOCK_TABLE);
    walk->table->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    unsigned n_columns = cmark_gfm_extensions_get_table_columns(node);
    const uint8_t *alignments = cmark_gfm_extensions_get_table_alignments(node);
    n_columns = MIN(n_columns, SUNDOG_BLOCK_MAX_TABLE_COLUMNS);
    walk->table->alignments = g_new0(char, n_columns + 1);
    for (unsigned i = 0; i < n_columns; i++)
        walk->table->alignments[i] = alignments && alignments[i] ? (char)alignments[i] : 'l';
}

static void
begin_row(Walk *walk)
{
    if (walk->table->rows->len == SUNDOG_BLOCK_MAX_TABLE_ROWS) {
        walk->table = push_continued(walk, walk->table);
        walk->table->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    }
    walk->cells = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(walk->table->rows, walk->cells);
}

static void
end_cell(Walk *walk)
{
    if (walk->cells->len < strlen(walk->table->alignments))
        g_ptr_array_add(walk->cells, g_strdup(walk->markup->str));
}

static void
append_code_span(Walk *walk, const char *code)
{
    open_tag(walk, "<span font_family=\"monospace\" bgcolor=\"#808080\" bgalpha=\"16%\">",
             "</span>");
    append_text(walk, code);
    close_tag(walk);
}

static void
visit_inline(Walk *walk, cmark_node *node, bool entering)
{
    cmark_node_type type = cmark_node_get_type(node);
    if (type == CMARK_NODE_TEXT || type == CMARK_NODE_HTML_INLINE)
        append_text(walk, cmark_node_get_literal(node));
    else if (type == CMARK_NODE_CODE)
        append_code_span(walk, cmark_node_get_literal(node));
    else if (type == CMARK_NODE_SOFTBREAK || type == CMARK_NODE_LINEBREAK)
        append_text(walk, "\n");
    else if (!entering)
        close_tag(walk);
    else if (type == CMARK_NODE_STRONG)
        open_tag(walk, "<b>", "</b>");
    else if (type == CMARK_NODE_EMPH)
        open_tag(walk, "<i>", "</i>");
    else if (type == CMARK_NODE_LINK || type == CMARK_NODE_IMAGE)
        open_link(walk, cmark_node_get_url(node));
    else
        open_tag(walk, "<s>", "</s>");
}

/* Extensions have no constants for their nodes, only names. */
static void
visit_table_part(Walk *walk, cmark_node *node, const char *type, bool entering)
{
    bool cell = strcmp(type, "table_cell") == 0;
    if (strcmp(type, "table") == 0) {
        if (entering)
            begin_table(walk, node);
    } else if (!cell && entering)
        begin_row(walk);
    else if (cell && entering)
        g_string_truncate(walk->markup, 0);
    else if (cell)
        end_cell(walk);
}

static void
visit_container(Walk *walk, cmark_node *node, bool entering)
{
    cmark_node_type type = cmark_node_get_type(node);
    if (type == CMARK_NODE_BLOCK_QUOTE)
        walk->n_quotes += entering ? 1 : -1;
    else if (type == CMARK_NODE_LIST && entering)
        begin_list(walk, node);
    else if (type == CMARK_NODE_LIST) {
        g_array_set_size(walk->lists, walk->lists->len - 1);
        walk->after_tight = stands_tight(walk);
    } else if (type == CMARK_NODE_ITEM && entering)
        begin_item(walk, node);
    else if (type == CMARK_NODE_ITEM)
        end_item(walk);
}

static void
visit_leaf(Walk *walk, cmark_node *node, bool entering)
{
    cmark_node_type type = cmark_node_get_type(node);
    if (!entering) {
        if (type == CMARK_NODE_PARAGRAPH || type == CMARK_NODE_HEADING)
            end_inner(walk);
        return;
    }
    if (type == CMARK_NODE_PARAGRAPH)
        begin_inner(walk, push_block(walk, SUNDOG_BLOCK_TEXT));
    else if (type == CMARK_NODE_HEADING) {
        begin_inner(walk, push_block(walk, SUNDOG_BLOCK_HEADING));
        walk->inner->level = cmark_node_get_heading_level(node);
    } else if (type == CMARK_NODE_CODE_BLOCK)
        push_code(walk, cmark_node_get_literal(node), cmark_node_get_fence_info(node));
    else if (type == CMARK_NODE_HTML_BLOCK)
        push_html(walk, cmark_node_get_literal(node));
    else if (type == CMARK_NODE_THEMATIC_BREAK)
        push_block(walk, SUNDOG_BLOCK_RULE);
}

static void
visit(Walk *walk, cmark_node *node, bool entering)
{
    const char *name = cmark_node_get_type_string(node);
    if (g_str_has_prefix(name, "table"))
        visit_table_part(walk, node, name, entering);
    else if ((cmark_node_get_type(node) & CMARK_NODE_TYPE_MASK) == CMARK_NODE_TYPE_INLINE)
        visit_inline(walk, node, entering);
    else {
        visit_container(walk, node, entering);
        visit_leaf(walk, node, entering);
    }
}

static cmark_node *
parse(const char *source, size_t n_bytes)
{
    static const char *const extensions[] = {"table", "strikethrough", "tasklist", "autolink"};
    static size_t registered;
    if (g_once_init_enter(&registered)) {
        cmark_gfm_core_extensions_ensure_registered();
        g_once_init_leave(&registered, 1);
    }
    cmark_parser *parser =
        cmark_parser_new(CMARK_OPT_VALIDATE_UTF8 | CMARK_OPT_STRIKETHROUGH_DOUBLE_TILDE);
    for (unsigned i = 0; i < G_N_ELEMENTS(extensions); i++)
        cmark_parser_attach_syntax_extension(parser, cmark_find_syntax_extension(extensions[i]));
    cmark_parser_feed(parser, source, n_bytes);
    cmark_node *document = cmark_parser_finish(parser);
    cmark_parser_free(parser);
    return document;
}

static void
walk_clear(Walk *walk)
{
    g_array_unref(walk->lists);
    g_string_free(walk->markup, TRUE);
    g_ptr_array_unref(walk->open);
    g_ptr_array_unref(walk->reopen);
    g_free(walk->marker);
}

void
sundog_blocks_append_source(GPtrArray *blocks, const char *source, size_t n_bytes)
{
    Walk walk = {.blocks = blocks,
                 .lists = g_array_new(FALSE, FALSE, sizeof(List)),
                 .markup = g_string_new(NULL),
                 .open = g_ptr_array_new_with_free_func(g_free),
                 .reopen = g_ptr_array_new_with_free_func(g_free)};
    cmark_node *document = parse(source, n_bytes);
    cmark_iter *iter = cmark_iter_new(document);
    cmark_event_type event;
    while ((event = cmark_iter_next(iter)) != CMARK_EVENT_DONE)
        visit(&walk, cmark_iter_get_node(iter), event == CMARK_EVENT_ENTER);
    cmark_iter_free(iter);
    cmark_node_free(document);
    walk_clear(&walk);
}

/* The offset of a line, counted as cmark counts: \n, \r\n and a lone \r end one. */
static size_t
skip_lines(const char *source, size_t n_bytes, size_t offset, int n_lines)
{
    while (n_lines > 0 && offset < n_bytes) {
        char c = source[offset++];
        if (c == '\r' && offset < n_bytes && source[offset] == '\n')
            offset++;
        if (c == '\n' || c == '\r')
            n_lines--;
    }
    return offset;
}

GArray *
sundog_blocks_find_starts(const char *source, size_t n_bytes)
{
    GArray *starts = g_array_new(FALSE, FALSE, sizeof(size_t));
    size_t offset = 0;
    int line = 1;
    g_array_append_val(starts, offset);
    cmark_node *document = parse(source, n_bytes);
    cmark_node *node = cmark_node_first_child(document);
    for (node = node ? cmark_node_next(node) : NULL; node; node = cmark_node_next(node)) {
        int start = cmark_node_get_start_line(node);
        if (start <= line)
            continue;
        offset = skip_lines(source, n_bytes, offset, start - line);
        line = start;
        g_array_append_val(starts, offset);
    }
    cmark_node_free(document);
    return starts;
}
