#pragma once

/* A template that is asked to render answers made of words of ours: what stands between the words is the
 * syntax. All strings that are given are the caller's. */

#include "engine/text/output/output-syntax.h"

#define QUESTION "Zugspitze"
#define CONTENT "Watzmann"
#define REASONING "Hochvogel"
#define NAME "probe_fn"
#define SECOND_NAME "second_fn"
#define IDENTIFIER "k4tzenj8m"
#define KEY "alpha"
#define VALUE "Nebelhorn"
#define OTHER_KEY "beta"
#define OTHER_VALUE "1747"
#define ARGUMENTS "{\"" KEY "\": \"" VALUE "\", \"" OTHER_KEY "\": " OTHER_VALUE "}"

#define TOOL(name)                                                                             \
    "{\"type\": \"function\", \"function\": {\"name\": \"" name "\", \"description\": \"d\", " \
    "\"parameters\": {\"type\": \"object\", \"properties\": {\"" KEY "\": {\"type\": "         \
    "\"string\", \"description\": \"d\"}, \"" OTHER_KEY "\": {\"type\": \"integer\", "         \
    "\"description\": \"d\"}}, \"required\": [\"" KEY "\"]}}}"
#define TOOLS "[" TOOL(NAME) ", " TOOL(SECOND_NAME) "]"

typedef struct {
    const SundogTemplate *chat_template;
    const SundogTokenizer *tokenizer;
    char *begin; /* what a template writes behind the question for an answer to begin */
    char *end;   /* what it writes behind an answer */
    bool text_arguments;
    bool null_content;
} SundogProbe;

/* Finds what begins and ends an answer of plain content. */
void sundog_probe_init(SundogProbe *probe, const SundogTemplate *chat_template,
                       const SundogTokenizer *tokenizer);
void sundog_probe_clear(SundogProbe *probe);

/* What stands behind the question once the messages behind it are rendered; NULL where the template does
 * not render it. message: JSON of the answer, or NULL for none. */
char *sundog_probe_render(const SundogProbe *probe, const char *message, bool with_tools);
/* An answer of CONTENT; one of one or two calls. */
char *sundog_probe_render_plain(const SundogProbe *probe);
char *sundog_probe_render_calls(const SundogProbe *probe, bool two);
/* A call as a member of a message's tool_calls. */
char *sundog_probe_print_call(const SundogProbe *probe, const char *name, const char *identifier);
/* Finds the way in which the template shows calls at all, and gives an answer of one; or NULL. */
char *sundog_probe_find_call(SundogProbe *probe);
char *sundog_probe_dup_stripped(const char *text, size_t n_bytes);

/* Reads the marks of calls; the form stays NONE where none can be told. */
void sundog_output_detect_calls(SundogOutputSyntax *syntax, SundogProbe *probe);
