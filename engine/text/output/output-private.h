#pragma once

/* What the parser's files share: see output-parser.h. A step takes something off the held text's
 * beginning, or says that more is needed. */

#include "engine/text/output/output-parser.h"

typedef enum {
    SUNDOG_OUTPUT_CONTENT,
    SUNDOG_OUTPUT_REASONING,
    SUNDOG_OUTPUT_SECTION, /* before, between and behind calls */
    SUNDOG_OUTPUT_NAME,    /* NAMED, TAGGED */
    SUNDOG_OUTPUT_EXTRA,   /* NAMED: what stands between name and arguments */
    SUNDOG_OUTPUT_JSON,    /* arguments as they are */
    SUNDOG_OUTPUT_OBJECT,  /* OBJECT: between members */
    SUNDOG_OUTPUT_MEMBER,  /* OBJECT: a member's value */
    SUNDOG_OUTPUT_KEYS,    /* TAGGED: before a key or the call's end */
    SUNDOG_OUTPUT_KEY,
    SUNDOG_OUTPUT_TEXT_VALUE,
    SUNDOG_OUTPUT_VALUE,
    SUNDOG_OUTPUT_PYTHON,   /* PYTHONIC: one call */
    SUNDOG_OUTPUT_BRACED,   /* BRACED: one call */
    SUNDOG_OUTPUT_CALL_END, /* before the call's close */
    SUNDOG_OUTPUT_HEADER,   /* HARMONY: up to a message's body */
} SundogOutputState;

/* How far JSON that is streamed has come. */
typedef struct {
    unsigned depth;
    bool quoted;
    bool escaped;
    bool begun;
} SundogJsonScan;

struct SundogOutputParser {
    const SundogOutputSyntax *syntax;
    SundogOutputOptions options;
    SundogOutputCalls calls;
    void *data;
    SundogOutputState state;
    GString *held; /* not yet taken */
    GString *raw;  /* taken for a call whose name is not yet known: content if it is none */
    bool is_final; /* nothing comes behind what is held */
    bool trims;    /* white space at the beginning is left out */
    bool begins;   /* nothing but white space has come */
    unsigned n_calls;
    unsigned n_in_section;

    char *name; /* of the present call, once it was told */
    SundogJsonScan scan;
    GString *early; /* OBJECT: arguments that came before the name */
    GString *value; /* OBJECT: of a member that is not streamed; TAGGED: a key */
    bool is_bare;   /* OBJECT: without any mark */
    bool had_arguments;
    bool had_member; /* OBJECT, TAGGED */
    bool is_text;    /* TAGGED: the value's type; its first line end is passed */
    bool passed_line;
    bool is_cdata; /* TAGGED: the value's text ends with that */
};

bool sundog_output_starts_with(const SundogOutputParser *parser, const char *mark);
/* Whether what is held is a beginning of the mark, so that more may complete it. */
bool sundog_output_may_start_with(const SundogOutputParser *parser, const char *mark);
/* Where a mark first stands, or -1; "" is nowhere. */
gssize sundog_output_find(const SundogOutputParser *parser, const char *mark);
/* Which of the marks (some NULL) stands first, the earlier in the list where two begin together, and where:
 * at *first. n_marks where there is none; false where more may yet complete one that goes before. */
bool sundog_output_find_first(const SundogOutputParser *parser, const char *const *marks,
                              size_t n_marks, size_t *which, size_t *first);
/* How many bytes at the end of what is held may begin the mark. */
size_t sundog_output_count_partial(const SundogOutputParser *parser, const char *mark);
/* Takes bytes off the beginning; they are kept in `raw` while a call has no name. */
void sundog_output_take(SundogOutputParser *parser, size_t n_bytes);
void sundog_output_skip_space(SundogOutputParser *parser, const char *more);

/* The call has a name: it is told, and can no longer be content. */
void sundog_output_begin_call(SundogOutputParser *parser, const char *name);
void sundog_output_give_arguments(SundogOutputParser *parser, const char *text, size_t n_bytes);
/* The whole call of the held n_bytes, after which its end is expected. */
void sundog_output_take_call(SundogOutputParser *parser, size_t n_bytes, const char *name,
                             const char *arguments);
/* What was taken for a call is none. */
void sundog_output_revert(SundogOutputParser *parser);
bool sundog_output_is_tool(const SundogOutputParser *parser, const char *name);
/* Begins the call itself, behind its opening mark. */
void sundog_output_open_call(SundogOutputParser *parser);

/* One step of a call's own states. False where more is needed. */
bool sundog_output_step_object(SundogOutputParser *parser);
bool sundog_output_step_tagged(SundogOutputParser *parser);
bool sundog_output_step_python(SundogOutputParser *parser);
bool sundog_output_step_braced(SundogOutputParser *parser);
/* Streams JSON as arguments up to its end. True at the end. */
bool sundog_output_stream_json(SundogOutputParser *parser, GString *instead);
