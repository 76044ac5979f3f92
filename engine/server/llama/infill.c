/* POST /infill: {"input_prefix", "input_suffix", "input_extra", "prompt", …} as llama-server has it. */

#include "engine/server/llama/infill.h"

#include "engine/format/json-members.h"
#include "engine/server/fields.h"
#include "engine/server/llama/completion.h"
#include "engine/server/routes.h"
#include <string.h>

static const struct {
    const char *prefix, *suffix, *middle, *file;
} spellings[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>"},
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<file_sep>"},
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>", "<filename>"},
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", ""},
    {"▁<PRE>", "▁<SUF>", "▁<MID>", ""},
};

static uint32_t
find(const SundogCoreText *core, const char *text)
{
    return *text ? sundog_tokenizer_find(core->tokenizer, text, strlen(text)) : SUNDOG_TOKEN_NONE;
}

static void
append_text(GArray *tokens, const SundogCoreText *core, const char *text)
{
    sundog_tokenizer_encode(core->tokenizer, text, strlen(text), SUNDOG_TOKENIZE_PLAIN, tokens);
}

static void
append_file(GArray *tokens, const SundogCoreText *core, uint32_t separator, JsonObject *file)
{
    if (separator != SUNDOG_TOKEN_NONE)
        g_array_append_val(tokens, separator);
    append_text(tokens, core, sundog_json_get_string(file, "filename", "file"));
    append_text(tokens, core, "\n");
    append_text(tokens, core, sundog_json_get_string(file, "text", ""));
    append_text(tokens, core, "\n");
}

GArray *
sundog_infill_encode(const SundogCoreText *core, const char *prefix, const char *suffix,
                     JsonArray *before)
{
    for (size_t i = 0; i < G_N_ELEMENTS(spellings); i++) {
        uint32_t begin = find(core, spellings[i].prefix), hole = find(core, spellings[i].suffix);
        uint32_t end = find(core, spellings[i].middle), file = find(core, spellings[i].file);
        if (begin == SUNDOG_TOKEN_NONE || hole == SUNDOG_TOKEN_NONE || end == SUNDOG_TOKEN_NONE)
            continue;
        GArray *tokens = g_array_new(false, false, sizeof(uint32_t));
        const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(core->tokenizer);
        if (vocabulary->add_bos && vocabulary->bos != SUNDOG_TOKEN_NONE)
            g_array_append_val(tokens, vocabulary->bos);
        for (guint k = 0; before && k < json_array_get_length(before); k++)
            append_file(tokens, core, file, sundog_json_get_element(before, k));
        g_array_append_val(tokens, begin);
        append_text(tokens, core, prefix);
        g_array_append_val(tokens, hole);
        append_text(tokens, core, suffix);
        g_array_append_val(tokens, end);
        return tokens;
    }
    return NULL;
}

static bool
read_prompt(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    const char *prefix = "", *suffix = "", *prompt = "";
    JsonArray *before = NULL;
    if (!sundog_field_read_text(object, SUNDOG_FIELD_INPUT_PREFIX, &prefix, error) ||
        !sundog_field_read_text(object, SUNDOG_FIELD_INPUT_SUFFIX, &suffix, error) ||
        !sundog_field_read_text(object, SUNDOG_FIELD_PROMPT, &prompt, error) ||
        !sundog_field_read_array(object, SUNDOG_FIELD_INPUT_EXTRA, &before, error))
        return false;
    g_autofree char *all = g_strconcat(prefix, prompt, NULL);
    request->prompt.tokens = sundog_infill_encode(request->core, all, suffix, before);
    return request->prompt.tokens || sundog_api_error_set(error, SUNDOG_API_ERROR_NO_INFILL,
                                                          "model", request->core->name, NULL);
}

void
sundog_llama_infill(SundogExchange *exchange)
{
    sundog_llama_answer(exchange, "/infill", read_prompt);
}
