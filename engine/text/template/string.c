/* Strings of a template: ropes of text with its provenance. */

#include "engine/text/template/string.h"

#include <string.h>

/* Below this, copying is cheaper than a rope's node and a later walk. */
#define FLAT_BYTES 64u

static const SundogString empty_string = {.text = ""};

static size_t
count_chars(const char *text, size_t n_bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static bool
fits(SundogRender *render, size_t n_bytes)
{
    if (n_bytes > SUNDOG_RENDER_MAX_STRING)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_LIMIT,
                           "The template makes a text of more than %zu MiB",
                           SUNDOG_RENDER_MAX_STRING >> 20);
    return render->error == NULL;
}

/* Whether so many bytes may be copied, which counts as work. */
static bool
may_copy(SundogRender *render, size_t n_bytes)
{
    return fits(render, n_bytes) && sundog_render_step(render, n_bytes / 64);
}

/* A flat string whose bytes and runs are still to be filled in. */
static SundogString *
take_flat(SundogRender *render, size_t n_bytes, size_t n_chars, size_t n_runs, char **text,
          SundogStringRun **runs)
{
    SundogString *string = sundog_render_take(render, sizeof *string);
    *text = sundog_render_take(render, n_bytes + 1);
    *runs = sundog_render_take_array(render, SundogStringRun, n_runs);
    string->n_bytes = n_bytes;
    string->n_chars = n_chars;
    string->text = *text;
    string->runs = *runs;
    string->n_runs = n_runs;
    return string;
}

const SundogString *
sundog_string_new(SundogRender *render, const char *text, size_t n_bytes, bool trusted)
{
    if (n_bytes == 0 || !may_copy(render, n_bytes))
        return &empty_string;
    char *bytes;
    SundogStringRun *runs;
    SundogString *string = take_flat(render, n_bytes, count_chars(text, n_bytes), 1, &bytes, &runs);
    memcpy(bytes, text, n_bytes);
    runs[0] = (SundogStringRun){n_bytes, trusted};
    return string;
}

const SundogString *
sundog_string_literal(SundogRender *render, const char *text)
{
    return sundog_string_new(render, text, strlen(text), true);
}

/* Where a byte's run stands in the list; the runs are few, and most strings have one. */
static size_t
find_run(const SundogString *string, size_t position)
{
    size_t low = 0, high = string->n_runs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (string->runs[middle].end <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Appends the runs of [from, to) at `at`, joining with the last where trust is equal. */
static size_t
copy_runs(SundogStringRun *runs, size_t n_runs, size_t at, const SundogString *string, size_t from,
          size_t to)
{
    for (size_t i = find_run(string, from); from < to; i++) {
        size_t end = MIN(string->runs[i].end, to);
        at += end - from;
        if (n_runs > 0 && runs[n_runs - 1].trusted == string->runs[i].trusted)
            runs[n_runs - 1].end = at;
        else
            runs[n_runs++] = (SundogStringRun){at, string->runs[i].trusted};
        from = end;
    }
    return n_runs;
}

/* The leaves of a rope in order. Iterative: ropes made in loops are as deep as the loop is long. */
static GPtrArray *
list_leaves(const SundogString *rope, size_t *n_runs)
{
    GPtrArray *leaves = g_ptr_array_new();
    g_autoptr(GPtrArray) waiting = g_ptr_array_new();
    g_ptr_array_add(waiting, (gpointer)rope);
    *n_runs = 0;
    while (waiting->len > 0) {
        const SundogString *string = g_ptr_array_steal_index(waiting, waiting->len - 1);
        if (string->text != NULL) {
            g_ptr_array_add(leaves, (gpointer)string);
            *n_runs += string->n_runs;
            continue;
        }
        g_ptr_array_add(waiting, (gpointer)string->right);
        g_ptr_array_add(waiting, (gpointer)string->left);
    }
    return leaves;
}

/* Ropes belong to one rendering, so that writing the flat form into them is seen by nobody else. */
static void
flatten(SundogRender *render, SundogString *rope)
{
    size_t n_runs;
    g_autoptr(GPtrArray) leaves = list_leaves(rope, &n_runs);
    sundog_render_step(render, leaves->len + rope->n_bytes / 64);
    char *text = sundog_render_take(render, rope->n_bytes + 1);
    SundogStringRun *runs = sundog_render_take_array(render, SundogStringRun, n_runs);
    size_t at = 0;
    n_runs = 0;
    for (unsigned i = 0; i < leaves->len; i++) {
        const SundogString *leaf = g_ptr_array_index(leaves, i);
        memcpy(text + at, leaf->text, leaf->n_bytes);
        n_runs = copy_runs(runs, n_runs, at, leaf, 0, leaf->n_bytes);
        at += leaf->n_bytes;
    }
    rope->text = text;
    rope->runs = runs;
    rope->n_runs = n_runs;
    rope->left = rope->right = NULL;
}

const char *
sundog_string_text(SundogRender *render, const SundogString *string)
{
    if (string->text == NULL)
        flatten(render, (SundogString *)string);
    return string->text;
}

const SundogString *
sundog_string_concat(SundogRender *render, const SundogString *left, const SundogString *right)
{
    if (left->n_bytes == 0)
        return right;
    if (right->n_bytes == 0)
        return left;
    if (left->n_bytes + right->n_bytes > SUNDOG_RENDER_MAX_STRING) {
        fits(render, left->n_bytes + right->n_bytes);
        return &empty_string;
    }
    SundogString *rope = sundog_render_take(render, sizeof *rope);
    rope->n_bytes = left->n_bytes + right->n_bytes;
    rope->n_chars = left->n_chars + right->n_chars;
    rope->left = left;
    rope->right = right;
    if (rope->n_bytes <= FLAT_BYTES)
        flatten(render, rope);
    return rope;
}

const SundogString *
sundog_string_slice(SundogRender *render, const SundogString *string, size_t from, size_t to)
{
    if (from >= to)
        return &empty_string;
    if (from == 0 && to == string->n_bytes)
        return string;
    sundog_string_text(render, string);
    may_copy(render, to - from);
    size_t n_runs = find_run(string, to - 1) - find_run(string, from) + 1;
    char *text;
    SundogStringRun *runs;
    SundogString *slice = take_flat(render, to - from, count_chars(string->text + from, to - from),
                                    n_runs, &text, &runs);
    memcpy(text, string->text + from, to - from);
    copy_runs(runs, 0, 0, string, from, to);
    slice->markup = string->markup;
    return slice;
}

const SundogString *
sundog_string_repeat(SundogRender *render, const SundogString *string, int64_t n)
{
    if (n <= 0 || string->n_bytes == 0)
        return &empty_string;
    if ((uint64_t)n > SUNDOG_RENDER_MAX_STRING / string->n_bytes) {
        fits(render, SUNDOG_RENDER_MAX_STRING + 1);
        return &empty_string;
    }
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    for (int64_t i = 0; i < n; i++)
        sundog_string_builder_append_string(&builder, string);
    return sundog_string_with_markup(render, sundog_string_builder_finish(&builder),
                                     string->markup);
}

const SundogString *
sundog_string_with_markup(SundogRender *render, const SundogString *string, bool markup)
{
    if (string->markup == markup)
        return string;
    sundog_string_text(render, string);
    SundogString *copy = sundog_render_take(render, sizeof *copy);
    *copy = *string;
    copy->markup = markup;
    return copy;
}

static const char *
html_entity(gunichar character)
{
    switch (character) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '\'':
        return "&#39;";
    case '"':
        return "&#34;";
    default:
        return NULL;
    }
}

const SundogString *
sundog_string_escape(SundogRender *render, const SundogString *string)
{
    if (string->markup)
        return string;
    SundogStringBuilder builder;
    sundog_string_builder_init(&builder, render);
    SundogStringCursor cursor;
    sundog_string_cursor_init(&cursor, render, string);
    gunichar character;
    bool trusted;
    while (sundog_string_cursor_next(&cursor, &character, &trusted)) {
        const char *entity = html_entity(character);
        if (entity != NULL)
            sundog_string_builder_append(&builder, entity, strlen(entity), trusted);
        else
            sundog_string_builder_append_char(&builder, character, trusted);
    }
    return sundog_string_with_markup(render, sundog_string_builder_finish(&builder), true);
}

bool
sundog_string_is(SundogRender *render, const SundogString *string, const char *text)
{
    return string->n_bytes == strlen(text) &&
           memcmp(sundog_string_text(render, string), text, string->n_bytes) == 0;
}

bool
sundog_string_equal(SundogRender *render, const SundogString *a, const SundogString *b)
{
    return a->n_bytes == b->n_bytes && sundog_render_step(render, a->n_bytes / 64) &&
           memcmp(sundog_string_text(render, a), sundog_string_text(render, b), a->n_bytes) == 0;
}

int
sundog_string_compare(SundogRender *render, const SundogString *a, const SundogString *b)
{
    /* The order of UTF-8 bytes is the order of code points, which is Python's. */
    size_t n = MIN(a->n_bytes, b->n_bytes);
    sundog_render_step(render, n / 64);
    int order = memcmp(sundog_string_text(render, a), sundog_string_text(render, b), n);
    return order != 0 ? order : (a->n_bytes > b->n_bytes) - (a->n_bytes < b->n_bytes);
}

gssize
sundog_string_find(SundogRender *render, const SundogString *string, const SundogString *needle,
                   size_t from, size_t to, bool last)
{
    const char *text = sundog_string_text(render, string);
    const char *sought = sundog_string_text(render, needle);
    size_t n = needle->n_bytes;
    if (from > to || n > to - from)
        return -1;
    sundog_render_step(render, (to - from) / 64);
    if (!last) {
        const char *found = n == 0 ? text + from : memmem(text + from, to - from, sought, n);
        return found != NULL ? found - text : -1;
    }
    for (size_t i = to - n + 1; i-- > from && sundog_render_step(render, n / 64);)
        if (memcmp(text + i, sought, n) == 0)
            return (gssize)i;
    return -1;
}

size_t
sundog_string_offset(SundogRender *render, const SundogString *string, size_t character)
{
    if (character >= string->n_chars)
        return string->n_bytes;
    if (string->n_chars == string->n_bytes)
        return character;
    sundog_render_step(render, character / 64);
    const char *text = sundog_string_text(render, string);
    return (size_t)(g_utf8_offset_to_pointer(text, (glong)character) - text);
}

bool
sundog_string_is_trusted(SundogRender *render, const SundogString *string)
{
    sundog_string_text(render, string);
    return string->n_runs == 0 || (string->n_runs == 1 && string->runs[0].trusted);
}

void
sundog_string_builder_init(SundogStringBuilder *builder, SundogRender *render)
{
    builder->render = render;
    builder->text = g_byte_array_new();
    builder->runs = g_array_new(FALSE, FALSE, sizeof(SundogStringRun));
    builder->n_chars = 0;
}

static bool
builder_has_room(SundogStringBuilder *builder, size_t n_bytes)
{
    return sundog_render_step(builder->render, 1) && may_copy(builder->render, n_bytes) &&
           fits(builder->render, builder->text->len + n_bytes);
}

static void
builder_append_run(SundogStringBuilder *builder, size_t end, bool trusted)
{
    GArray *runs = builder->runs;
    SundogStringRun *last =
        runs->len > 0 ? &g_array_index(runs, SundogStringRun, runs->len - 1) : NULL;
    if (last != NULL && last->trusted == trusted)
        last->end = end;
    else
        g_array_append_vals(runs, &(SundogStringRun){end, trusted}, 1);
}

void
sundog_string_builder_append(SundogStringBuilder *builder, const char *text, size_t n_bytes,
                             bool trusted)
{
    if (n_bytes == 0 || !builder_has_room(builder, n_bytes))
        return;
    g_byte_array_append(builder->text, (const guint8 *)text, (guint)n_bytes);
    builder->n_chars += count_chars(text, n_bytes);
    builder_append_run(builder, builder->text->len, trusted);
}

void
sundog_string_builder_append_literal(SundogStringBuilder *builder, const char *text)
{
    sundog_string_builder_append(builder, text, strlen(text), true);
}

void
sundog_string_builder_append_char(SundogStringBuilder *builder, gunichar character, bool trusted)
{
    char bytes[6];
    int n = g_unichar_to_utf8(character, bytes);
    sundog_string_builder_append(builder, bytes, (size_t)n, trusted);
}

void
sundog_string_builder_append_string(SundogStringBuilder *builder, const SundogString *string)
{
    sundog_string_builder_append_slice(builder, string, 0, string->n_bytes);
}

void
sundog_string_builder_append_slice(SundogStringBuilder *builder, const SundogString *string,
                                   size_t from, size_t to)
{
    if (from >= to || !builder_has_room(builder, to - from))
        return;
    const char *text = sundog_string_text(builder->render, string);
    for (size_t i = find_run(string, from); from < to; i++) {
        size_t end = MIN(string->runs[i].end, to);
        sundog_string_builder_append(builder, text + from, end - from, string->runs[i].trusted);
        from = end;
    }
}

const SundogString *
sundog_string_builder_finish(SundogStringBuilder *builder)
{
    const SundogString *result = &empty_string;
    if (builder->text->len > 0 && !sundog_render_failed(builder->render)) {
        char *text;
        SundogStringRun *runs;
        result = take_flat(builder->render, builder->text->len, builder->n_chars,
                           builder->runs->len, &text, &runs);
        memcpy(text, builder->text->data, builder->text->len);
        memcpy(runs, builder->runs->data, builder->runs->len * sizeof *runs);
    }
    g_byte_array_unref(builder->text);
    g_array_unref(builder->runs);
    return result;
}

void
sundog_string_cursor_init(SundogStringCursor *cursor, SundogRender *render,
                          const SundogString *string)
{
    *cursor = (SundogStringCursor){string, sundog_string_text(render, string), 0, 0};
}

bool
sundog_string_cursor_next(SundogStringCursor *cursor, gunichar *character, bool *trusted)
{
    if (cursor->position >= cursor->string->n_bytes)
        return false;
    while (cursor->string->runs[cursor->run].end <= cursor->position)
        cursor->run++;
    const char *at = cursor->text + cursor->position;
    *character = g_utf8_get_char(at);
    *trusted = cursor->string->runs[cursor->run].trusted;
    cursor->position += (size_t)(g_utf8_next_char(at) - at);
    return true;
}

bool
sundog_char_is_space(gunichar c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}
