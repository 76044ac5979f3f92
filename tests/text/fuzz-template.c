/*
 * A template and, after a NUL byte, its variables as JSON: whatever they are, rendering ends in a text
 * or an error, and its spans are the text in order.
 */

#include "engine/format/json.h"
#include "engine/text/template/template.h"

#include <string.h>

#define VARIABLES                                                                                  \
    "{\"messages\": [{\"role\": \"user\", \"content\": \"a, b\"}, {\"role\": \"x\", \"content\": " \
    "null}], "                                                                                     \
    "\"tools\": [{\"f\": {\"n\": [1, 2.5, true, \"ř\"]}}], \"bos_token\": \"<s>\"}"

const char *const fuzz_seeds[] = {
    "{% for m in messages %}{{ m.role ~ m['content'][1:-1]|trim }}{% else %}-{% endfor %}",
    "{% set ns = namespace(a='', b=[1]) %}{% for i in range(3) %}{% set ns.a = ns.a + i|string * 2 "
    "%}"
    "{% if i is odd %}{% continue %}{% endif %}{{ loop.cycle('a', 'b') }}{% endfor %}{{ ns.a }}",
    "{%- macro m(a, b=1) -%}{{ a }}{{ caller() if caller }}{{ kwargs }}{{ varargs }}{%- endmacro "
    "-%}"
    "{% call m(1, c=2) %}x{% endcall %}{{ m(*[1], **{'b': 3}) }}",
    "{{ messages|selectattr('role', 'eq', 'user')|map(attribute='content')|join(', ')|upper }}",
    "{{ tools|tojson(indent=2) }}{{ tools }}{{ '%5.2f %s' % (1.5, 'x') }}{{ '{0:>5}{a}'.format(1, "
    "a=2) }}",
    "{% raw %}{{{% endraw %}{# c #}{{ 'a\\n\\x41'.split('n', 1)[0].replace('a', 'b').center(9, "
    "'*') }}",
    "{% filter indent(2) %}a\nb{% endfilter %}{{ 1 if x is defined else [3, 1]|sort|first // 2 ** "
    "2 }}",
    "{% for t in [1] recursive %}{{ loop.last }}{{ loop([]) }}{% endfor %}{{ strftime_now('%d %b "
    "%-j') }}",
    "{{ {'b': 1, 'a': (1, 2)}|dictsort|list }}{% with a, b = 1, 2 %}{{ a + b }}{% endwith %}{{ "
    "'a'|safe + '<' }}",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    g_autofree char *source = g_strndup((const char *)data, n_bytes);
    size_t n_source = strlen(source);
    g_autoptr(JsonNode) variables = NULL;
    if (n_source + 1 < n_bytes)
        variables =
            sundog_json_parse((const char *)data + n_source + 1, n_bytes - n_source - 1, NULL);
    if (variables == NULL || !JSON_NODE_HOLDS_OBJECT(variables)) {
        g_clear_pointer(&variables, json_node_unref);
        variables = sundog_json_parse(VARIABLES, strlen(VARIABLES), NULL);
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogTemplate) chat_template = sundog_template_new(source, &error);
    g_assert((chat_template == NULL) == (error != NULL));
    if (chat_template == NULL)
        return 0;
    g_autoptr(SundogRendering) rendering =
        sundog_template_render(chat_template, json_node_get_object(variables), 0, &error);
    g_assert((rendering == NULL) == (error != NULL));
    if (rendering == NULL)
        return 0;
    size_t n_text, n_spans, at = 0;
    const char *text = sundog_rendering_get_text(rendering, &n_text);
    const SundogTextSpan *spans = sundog_rendering_get_spans(rendering, &n_spans);
    for (size_t i = 0; i < n_spans; i++) {
        g_assert(spans[i].text == text + at && spans[i].n_bytes > 0);
        at += spans[i].n_bytes;
    }
    g_assert(at == n_text);
    return 0;
}
