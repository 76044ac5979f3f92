/* A chat template read once, with words to be replaced in the place of messages: rerankers that
 * sentence-transformers saves have roles of their own for a query and a document. */

#include "engine/prepare/pair-template.h"

#include "engine/text/template/template.h"

#include <string.h>

#define QUERY "{query}"
#define DOCUMENT "{document}"

static void
add_message(JsonArray *messages, const char *role, const char *content)
{
    JsonObject *message = json_object_new();
    json_object_set_string_member(message, "role", role);
    json_object_set_string_member(message, "content", content);
    json_array_add_object_element(messages, message);
}

/* NULL where the template knows no such roles. */
static char *
dup_rendered(const char *source)
{
    g_autoptr(SundogTemplate) chat = source != NULL ? sundog_template_new(source, NULL) : NULL;
    if (chat == NULL)
        return NULL;
    g_autoptr(JsonObject) variables = json_object_new();
    JsonArray *messages = json_array_new();
    add_message(messages, "query", QUERY);
    add_message(messages, "document", DOCUMENT);
    json_object_set_array_member(variables, "messages", messages);
    json_object_set_boolean_member(variables, "add_generation_prompt", true);
    g_autoptr(SundogRendering) rendering = sundog_template_render(chat, variables, 0, NULL);
    size_t n_bytes;
    const char *text = rendering != NULL ? sundog_rendering_get_text(rendering, &n_bytes) : NULL;
    return text != NULL && strstr(text, QUERY) != NULL && strstr(text, DOCUMENT) != NULL
               ? g_strdup(text)
               : NULL;
}

char *
sundog_pair_template_dup(const SundogModel *model)
{
    const char *stated = sundog_model_get_pair_template(model);
    if (stated == NULL)
        return NULL;
    char *rendered = dup_rendered(sundog_model_get_chat_template(model));
    return rendered != NULL ? rendered : g_strdup(stated);
}
