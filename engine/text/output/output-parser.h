#pragma once

/*
 * An answer's text, piece by piece, into content, reasoning and calls of tools, by the core's syntax.
 * What comes out, joined by kind and call, is the same however the text was cut. What begins like a
 * call and turns out to be none is content; a call that is cut off before its name is known is left
 * out, and after that its arguments end where the answer does.
 *
 * Text is valid UTF-8, with the control tokens of sundog_output_syntax_find_tokens() spelled out. One a
 * request; one thread.
 */

#include "engine/text/output/output-syntax.h"

typedef struct {
    /* Neither is empty. */
    void (*content)(const char *text, size_t n_bytes, void *data);
    void (*reasoning)(const char *text, size_t n_bytes, void *data);
    /* Call number `index`, from 0; then its arguments, JSON of an object, in pieces. */
    void (*call)(unsigned index, const char *name, void *data);
    void (*arguments)(unsigned index, const char *text, size_t n_bytes, void *data);
} SundogOutputCalls;

typedef struct {
    bool begins_reasoning; /* the prompt has left reasoning open */
    bool reasons;          /* reasoning is told apart; else its marks are content */
    bool takes_calls;      /* else what looks like a call is content */
    JsonArray *tools;      /* as the client sent them, for the types of arguments; or NULL */
} SundogOutputOptions;

typedef struct SundogOutputParser SundogOutputParser;

/* Borrows the syntax; keeps a reference to the tools. */
SundogOutputParser *sundog_output_parser_new(const SundogOutputSyntax *syntax,
                                             const SundogOutputOptions *options,
                                             const SundogOutputCalls *calls, void *data);
void sundog_output_parser_free(SundogOutputParser *parser);

void sundog_output_parser_feed(SundogOutputParser *parser, const char *text, size_t n_bytes);
/* The end; `whole`: the answer ended by itself, and was not cut. */
void sundog_output_parser_finish(SundogOutputParser *parser, bool whole);
unsigned sundog_output_parser_get_n_calls(const SundogOutputParser *parser);

/* Whether a prompt's text leaves reasoning open. */
bool sundog_output_syntax_begins_reasoning(const SundogOutputSyntax *syntax, const char *prompt);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogOutputParser, sundog_output_parser_free)
