#pragma once

/*
 * Chat templates: the Jinja that models' makers publish, interpreted as Python's jinja2 does when set
 * up like `transformers` (trim_blocks, lstrip_blocks, loop controls, raise_exception, strftime_now,
 * tojson without HTML escapes, immutable sandbox). Bounded in steps, nesting and output.
 *
 * The output is a list of spans: what the template wrote itself is trusted, what came from a message
 * or another variable is not, so that a message cannot forge a turn.
 *
 * A compiled template is immutable and may be shared between threads.
 */

#include "engine/text/tokenizer/tokenizer.h"
#include <json-glib/json-glib.h>

#define SUNDOG_TEMPLATE_ERROR (sundog_template_error_quark())
typedef enum {
    SUNDOG_TEMPLATE_ERROR_SYNTAX,   /* The template itself is wrong: the text gives its line. */
    SUNDOG_TEMPLATE_ERROR_RENDER,   /* It cannot render these variables. */
    SUNDOG_TEMPLATE_ERROR_RAISED,   /* It called raise_exception; the text is its own. */
    SUNDOG_TEMPLATE_ERROR_LIMIT,    /* Too many steps, too deep or too long. */
    SUNDOG_TEMPLATE_ERROR_MESSAGES, /* The messages' shape is wrong: the text names index and key. */
} SundogTemplateError;
GQuark sundog_template_error_quark(void);

typedef struct SundogTemplate SundogTemplate;
typedef struct SundogRendering SundogRendering;

SundogTemplate *sundog_template_new(const char *source, GError **error);
void sundog_template_free(SundogTemplate *self);

/* Renders with the variables of a JSON object (messages, tools, add_generation_prompt, bos_token,
 * eos_token, …). Strings of variables whose names end in `_token` are the template's own, and so are
 * messages' roles where they are words of the protocol; all other strings are untrusted.
 * now_us: the time for strftime_now, as of g_get_real_time(). */
SundogRendering *sundog_template_render(const SundogTemplate *self, JsonObject *variables,
                                        int64_t now_us, GError **error);
void sundog_rendering_free(SundogRendering *rendering);
/* Spans in order, borrowed from the rendering. */
const SundogTextSpan *sundog_rendering_get_spans(const SundogRendering *rendering, size_t *n_spans);
/* The whole text, NUL-terminated, borrowed. */
const char *sundog_rendering_get_text(const SundogRendering *rendering, size_t *n_bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogTemplate, sundog_template_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogRendering, sundog_rendering_free)
