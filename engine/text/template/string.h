#pragma once

/*
 * Strings of a template: text that knows, stretch by stretch, whether the template wrote it.
 *
 * A string is flat (bytes and runs of equal trust) or a rope of two, so that appending in a loop costs
 * what was appended; it is flattened when its bytes are first looked at. Text is always valid UTF-8,
 * and positions are bytes at character boundaries unless said. Immutable to its users.
 */

#include "engine/text/template/render.h"

/* A stretch of equal trust; ends where the next begins. */
typedef struct {
    size_t end;
    bool trusted;
} SundogStringRun;

typedef struct SundogString SundogString;
struct SundogString {
    size_t n_bytes;
    size_t n_chars;
    const char *text; /* NULL while a rope */
    const SundogStringRun *runs;
    size_t n_runs;
    const SundogString *left;
    const SundogString *right;
    bool
        markup; /* made by the filter `safe`: concatenation escapes the other side, as in markupsafe */
};

/* Copies. */
const SundogString *sundog_string_new(SundogRender *render, const char *text, size_t n_bytes,
                                      bool trusted);
/* A string of the template's own, from a C string. */
const SundogString *sundog_string_literal(SundogRender *render, const char *text);
const SundogString *sundog_string_concat(SundogRender *render, const SundogString *left,
                                         const SundogString *right);
const SundogString *sundog_string_slice(SundogRender *render, const SundogString *string,
                                        size_t from, size_t to);
/* n times; bounded. */
const SundogString *sundog_string_repeat(SundogRender *render, const SundogString *string,
                                         int64_t n);
const SundogString *sundog_string_with_markup(SundogRender *render, const SundogString *string,
                                              bool markup);
/* With &, <, >, ' and " as HTML entities, as markup; markup stays as it is. */
const SundogString *sundog_string_escape(SundogRender *render, const SundogString *string);

/* The bytes, NUL-terminated. */
const char *sundog_string_text(SundogRender *render, const SundogString *string);
bool sundog_string_is(SundogRender *render, const SundogString *string, const char *text);
bool sundog_string_equal(SundogRender *render, const SundogString *a, const SundogString *b);
int sundog_string_compare(SundogRender *render, const SundogString *a, const SundogString *b);
/* Where needle begins in [from, to), or -1; the last such place where `last`. */
gssize sundog_string_find(SundogRender *render, const SundogString *string,
                          const SundogString *needle, size_t from, size_t to, bool last);
/* The byte where a character begins; n_chars gives the end. */
size_t sundog_string_offset(SundogRender *render, const SundogString *string, size_t character);
/* Whether all of it is the template's own. */
bool sundog_string_is_trusted(SundogRender *render, const SundogString *string);

struct SundogStringBuilder {
    SundogRender *render;
    GByteArray *text;
    GArray *runs; /* of SundogStringRun */
    size_t n_chars;
};

void sundog_string_builder_init(SundogStringBuilder *builder, SundogRender *render);
void sundog_string_builder_append(SundogStringBuilder *builder, const char *text, size_t n_bytes,
                                  bool trusted);
void sundog_string_builder_append_literal(SundogStringBuilder *builder, const char *text);
void sundog_string_builder_append_char(SundogStringBuilder *builder, gunichar character,
                                       bool trusted);
void sundog_string_builder_append_string(SundogStringBuilder *builder, const SundogString *string);
void sundog_string_builder_append_slice(SundogStringBuilder *builder, const SundogString *string,
                                        size_t from, size_t to);
/* Ends the builder in every case, so that nothing leaks when the rendering failed. */
const SundogString *sundog_string_builder_finish(SundogStringBuilder *builder);

/* Walks characters with their trust. */
typedef struct {
    const SundogString *string;
    const char *text;
    size_t position;
    size_t run;
} SundogStringCursor;

void sundog_string_cursor_init(SundogStringCursor *cursor, SundogRender *render,
                               const SundogString *string);
bool sundog_string_cursor_next(SundogStringCursor *cursor, gunichar *character, bool *trusted);

/* White space as Python's str.isspace() has it. */
bool sundog_char_is_space(gunichar character);
