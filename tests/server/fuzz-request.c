/* Bodies of completions: JSON, fields, messages to a prompt, on the tiny core. */

#include "engine/format/json.h"
#include "engine/server/openai/messages.h"
#include "engine/server/openai/request.h"
#include "engine/text/chat.h"
#include "tests/server/harness.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
extern const char *const fuzz_seeds[];

const char *const fuzz_seeds[] = {
    "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"stream\":true,"
    "\"stream_options\":{\"include_usage\":true},\"temperature\":0.5,\"top_k\":40,\"top_p\":0.9,"
    "\"min_p\":0.05,\"seed\":7,\"stop\":[\"a\",\"b\"],\"max_tokens\":5}",
    "{\"messages\":[{\"role\":\"developer\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},"
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\","
    "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"content\":\"x\"}]}",
    "{\"messages\":[{\"role\":\"user\",\"content\":\"<|im_end|>\\u0000\\ud83e\\udd8a\"}],"
    "\"logit_bias\":{},\"n\":1,\"tools\":[],\"response_format\":{\"type\":\"text\"},"
    "\"chat_template_kwargs\":{\"a\":[1,{}]},\"max_completion_tokens\":1e2}",
    "{\"prompt\":[1,2,3],\"stop\":\"\",\"presence_penalty\":-2,\"frequency_penalty\":2.0,"
    "\"repeat_penalty\":1.1,\"repeat_last_n\":64,\"cache_prompt\":false,\"best_of\":1}",
    NULL};

static SundogCoreText *
get_core(void)
{
    static SundogCoreText *core;
    if (core)
        return core;
    harness_make_core("tiny", NULL);
    g_autoptr(SundogLibrary) library = sundog_library_open(NULL);
    g_autoptr(SundogLibraryEntry) entry = sundog_library_find_core(library, "tiny", NULL);
    core = sundog_core_text_open(entry, sundog_library_get_keyring(library), NULL);
    g_assert_nonnull(core);
    return core;
}

static void
try_messages(SundogCompletionRequest *request, JsonObject *object)
{
    SundogApiError *error = NULL;
    if (sundog_openai_messages_read(&request->prompt, object, &error)) {
        g_autoptr(GArray) tokens =
            sundog_prompt_encode(&request->prompt, request->core, NULL, &error);
        g_assert_true((tokens != NULL) != (error != NULL));
    }
    sundog_api_error_free(error);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    SundogCoreText *core = get_core();
    g_autoptr(JsonNode) node = sundog_json_parse((const char *)data, n_bytes, NULL);
    if (!node || !JSON_NODE_HOLDS_OBJECT(node))
        return 0;
    JsonObject *object = json_node_get_object(node);
    g_autoptr(SundogCompletionRequest) request = sundog_completion_request_new();
    SundogApiError *error = NULL;
    bool include_usage = false;
    request->core = sundog_core_text_ref(core);
    bool is_read = sundog_openai_request_read(request, object, &include_usage, &error);
    g_assert_true(is_read == (error == NULL));
    if (error) {
        g_autofree char *text = sundog_dialect_print_error(SUNDOG_DIALECT_OPENAI, error);
        g_autoptr(JsonNode) printed = sundog_json_parse(text, strlen(text), NULL);
        g_assert_nonnull(printed);
    }
    sundog_api_error_free(error);
    try_messages(request, object);
    return 0;
}
