/* Prompts. */

#include "engine/server/prompt.h"

#include "engine/text/chat.h"
#include <string.h>

/* Some 4 ms of work; what is shorter would only wait for a thread. */
#define LONG_BYTES (64u << 10)

void
sundog_prompt_clear(SundogPrompt *prompt)
{
    g_clear_pointer(&prompt->messages, json_array_unref);
    g_clear_pointer(&prompt->tools, json_array_unref);
    g_clear_pointer(&prompt->variables, json_object_unref);
    g_clear_pointer(&prompt->text, g_free);
    g_clear_pointer(&prompt->tokens, g_array_unref);
}

void
sundog_prompt_set_tools(SundogPrompt *prompt, JsonArray *tools)
{
    g_clear_pointer(&prompt->tools, json_array_unref);
    prompt->tools = sundog_chat_normalise_tools(tools);
}

void
sundog_prompt_set_variable(SundogPrompt *prompt, const char *name, JsonNode *value)
{
    if (!prompt->variables)
        prompt->variables = json_object_new();
    if (json_object_has_member(prompt->variables, name))
        json_node_unref(value);
    else
        json_object_set_member(prompt->variables, name, value);
}

static GArray *
encode_chat(const SundogPrompt *prompt, const SundogCoreText *core, SundogRendering **rendering,
            SundogApiError **error)
{
    SundogChat chat = {.messages = prompt->messages,
                       .add_generation_prompt = prompt->adds_turn,
                       .continues = prompt->continues,
                       .extra = prompt->variables,
                       .tools = prompt->tools,
                       .syntax = core->syntax};
    if (!core->chat_template) {
        sundog_api_error_set(error, SUNDOG_API_ERROR_NO_TEMPLATE, "model", core->name, NULL);
        return NULL;
    }
    g_autoptr(GError) reason = NULL;
    GArray *tokens =
        sundog_chat_encode(core->chat_template, core->tokenizer, &chat, rendering, &reason);
    if (!tokens)
        sundog_api_error_set(error, SUNDOG_API_ERROR_BAD_MESSAGES, "messages", reason->message,
                             NULL);
    return tokens;
}

static GArray *
encode_text(const SundogPrompt *prompt, const SundogCoreText *core)
{
    GArray *tokens = g_array_new(false, false, sizeof(uint32_t));
    sundog_tokenizer_encode(core->tokenizer, prompt->text, strlen(prompt->text), prompt->flags,
                            tokens);
    return tokens;
}

GArray *
sundog_prompt_encode(const SundogPrompt *prompt, const SundogCoreText *core,
                     SundogRendering **rendering, SundogApiError **error)
{
    if (prompt->tokens)
        return g_array_copy(prompt->tokens);
    return prompt->messages ? encode_chat(prompt, core, rendering, error)
                            : encode_text(prompt, core);
}

static void
encode(const SundogPrompt *prompt, const SundogCoreText *core, SundogEncoded *encoded)
{
    encoded->tokens = sundog_prompt_encode(prompt, core, &encoded->rendering, &encoded->error);
}

static void
finish(SundogEncoded *encoded, void (*done)(SundogEncoded *encoded, void *data), void *data)
{
    done(encoded, data);
    g_clear_pointer(&encoded->tokens, g_array_unref);
    g_clear_pointer(&encoded->rendering, sundog_rendering_free);
    g_clear_pointer(&encoded->error, sundog_api_error_free);
}

/* Beside the main loop */

typedef struct {
    const SundogPrompt *prompt;
    const SundogCoreText *core;
    SundogExchange *exchange; /* of the main context alone */
    SundogEncoded encoded;
    void (*done)(SundogEncoded *encoded, void *data);
    void *data;
} Encoding;

static void
encode_in_thread(GTask *task, void *source, void *data, GCancellable *cancellable)
{
    Encoding *encoding = data;
    encode(encoding->prompt, encoding->core, &encoding->encoded);
    g_task_return_boolean(task, true);
}

static void
on_encoded(GObject *source, GAsyncResult *result, void *data)
{
    Encoding *encoding = data;
    finish(&encoding->encoded, encoding->done, encoding->data);
    sundog_exchange_unref(encoding->exchange);
    g_free(encoding);
}

void
sundog_prompt_encode_async(const SundogPrompt *prompt, const SundogCoreText *core,
                           SundogExchange *exchange,
                           void (*done)(SundogEncoded *encoded, void *data), void *data)
{
    if (prompt->n_bytes < LONG_BYTES) {
        SundogEncoded encoded = {0};
        encode(prompt, core, &encoded);
        finish(&encoded, done, data);
        return;
    }
    Encoding *encoding = g_new0(Encoding, 1);
    *encoding = (Encoding){.prompt = prompt,
                           .core = core,
                           .exchange = sundog_exchange_ref(exchange),
                           .done = done,
                           .data = data};
    sundog_exchange_set_gone(exchange, NULL, NULL);
    g_autoptr(GTask) task = g_task_new(NULL, NULL, on_encoded, encoding);
    g_task_set_task_data(task, encoding, NULL);
    g_task_run_in_thread(task, encode_in_thread);
}
