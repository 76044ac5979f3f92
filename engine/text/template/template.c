/* A compiled template and its renderings. */

#include "engine/text/template/evaluate.h"
#include "engine/text/template/parser.h"

#include <string.h>

/* Sources beyond this are no chat templates; the longest published one is 30 KB. */
#define MAX_SOURCE_BYTES ((size_t)1 << 20)

struct SundogTemplate {
    SundogRender memory; /* holds the tree */
    const SundogNode *body;
};

struct SundogRendering {
    char *text;
    size_t n_bytes;
    SundogTextSpan *spans;
    size_t n_spans;
};

/* Roles are the protocol's words and not a message's text, and some templates build control tokens
 * from them; any other string in their place is as untrusted as the rest. */
static const char *const role_names[] = {"assistant", "developer", "function", "ipython",
                                         "system",    "tool",      "user"};

SundogTemplate *
sundog_template_new(const char *source, GError **error)
{
    SundogTemplate *self = g_new0(SundogTemplate, 1);
    SundogNames names = {g_hash_table_new(g_str_hash, g_str_equal)};
    sundog_render_init(&self->memory);
    size_t n = strlen(source);
    if (n > MAX_SOURCE_BYTES)
        sundog_render_fail(&self->memory, SUNDOG_TEMPLATE_ERROR_LIMIT,
                           "The template has %zu bytes, the most is %zu", n, MAX_SOURCE_BYTES);
    else if (!g_utf8_validate(source, (gssize)n, NULL))
        sundog_render_fail(&self->memory, SUNDOG_TEMPLATE_ERROR_SYNTAX,
                           "The template is not UTF-8");
    else
        self->body = sundog_template_parse(&self->memory, &names, source, n);
    g_hash_table_unref(names.table);
    if (self->memory.error == NULL)
        return self;
    g_propagate_error(error, g_steal_pointer(&self->memory.error));
    sundog_template_free(self);
    return NULL;
}

void
sundog_template_free(SundogTemplate *self)
{
    if (self == NULL)
        return;
    sundog_render_clear(&self->memory);
    g_free(self);
}

/* The vocabulary's own spellings of control tokens: bos_token, eos_token, pad_token and so on. */
static bool
is_trusted(const char *name)
{
    return g_str_has_suffix(name, "_token");
}

static void
trust_role(SundogRender *render, SundogValue message)
{
    SundogValue *role = message.kind == SUNDOG_VALUE_DICT
                            ? sundog_dict_get_text(render, message.dict, "role")
                            : NULL;
    for (size_t i = 0; role != NULL && i < G_N_ELEMENTS(role_names); i++)
        if (role->kind == SUNDOG_VALUE_STRING &&
            sundog_string_is(render, role->string, role_names[i]))
            *role = sundog_value_literal(render, role_names[i]);
}

static const SundogDict *
convert_variables(SundogRender *render, JsonObject *variables)
{
    SundogDict *dict = sundog_dict_new(render);
    JsonObjectIter iter;
    const char *name;
    JsonNode *member;
    json_object_iter_init_ordered(&iter, variables);
    while (json_object_iter_next_ordered(&iter, &name, &member)) {
        SundogValue value = sundog_value_from_json(render, member, is_trusted(name));
        if (strcmp(name, "messages") == 0 && value.kind == SUNDOG_VALUE_LIST)
            for (size_t i = 0; i < value.list->n_items; i++)
                trust_role(render, value.list->items[i]);
        sundog_dict_set(render, dict, sundog_value_literal(render, name), value);
    }
    return dict;
}

/* Copies the output out of the rendering's arena. */
static SundogRendering *
rendering_new(SundogRender *render, const SundogString *output)
{
    SundogRendering *rendering = g_new0(SundogRendering, 1);
    const char *text = sundog_string_text(render, output);
    rendering->n_bytes = output->n_bytes;
    rendering->text = g_malloc(output->n_bytes + 1);
    memcpy(rendering->text, text, output->n_bytes + 1);
    rendering->n_spans = output->n_runs;
    rendering->spans = g_new0(SundogTextSpan, output->n_runs);
    size_t from = 0;
    for (size_t i = 0; i < output->n_runs; i++) {
        rendering->spans[i] = (SundogTextSpan){
            .text = rendering->text + from,
            .n_bytes = output->runs[i].end - from,
            .trusted = output->runs[i].trusted,
        };
        from = output->runs[i].end;
    }
    return rendering;
}

SundogRendering *
sundog_template_render(const SundogTemplate *self, JsonObject *variables, int64_t now_us,
                       GError **error)
{
    SundogRender render;
    sundog_render_init(&render);
    render.now_us = now_us;
    render.variables = convert_variables(&render, variables);
    const SundogString *output =
        sundog_template_capture(&render, self->body, sundog_scope_new(&render, NULL));
    SundogRendering *rendering = render.error == NULL ? rendering_new(&render, output) : NULL;
    if (rendering == NULL)
        g_propagate_error(error, g_steal_pointer(&render.error));
    sundog_render_clear(&render);
    return rendering;
}

void
sundog_rendering_free(SundogRendering *rendering)
{
    if (rendering == NULL)
        return;
    g_free(rendering->text);
    g_free(rendering->spans);
    g_free(rendering);
}

const SundogTextSpan *
sundog_rendering_get_spans(const SundogRendering *rendering, size_t *n_spans)
{
    *n_spans = rendering->n_spans;
    return rendering->spans;
}

const char *
sundog_rendering_get_text(const SundogRendering *rendering, size_t *n_bytes)
{
    if (n_bytes != NULL)
        *n_bytes = rendering->n_bytes;
    return rendering->text;
}
