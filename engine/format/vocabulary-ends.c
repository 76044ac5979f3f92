/* Tokens that end an answer, known by how they are spelled. */

#include "engine/format/vocabulary.h"

#include <string.h>

static const char *const end_spellings[] = {
    "<|im_end|>",    "<|eot_id|>",
    "<|eom_id|>",    "<|end_of_text|>",
    "<|endoftext|>", "<|end|>",
    "<|return|>",    "<|call|>",
    "<end_of_turn>", "<end_of_utterance>",
    "<|turn_end|>",  "<|end_of_turn|>",
    "<eos>",         "</s>",
    "<EOT>",         "<turn|>",
    "<|eot|>",       "<｜end▁of▁sentence｜>",
    "[EOT]",         "[e~[",
};

static bool
is_end(const char *text)
{
    for (size_t i = 0; i < G_N_ELEMENTS(end_spellings); i++)
        if (strcmp(end_spellings[i], text) == 0)
            return true;
    return false;
}

static uint32_t
find_control(const SundogVocabulary *vocabulary, const char *text)
{
    for (uint32_t id = 0; id < vocabulary->n_tokens; id++)
        if (vocabulary->tokens[id].kind == SUNDOG_TOKEN_CONTROL &&
            strcmp(vocabulary->tokens[id].text, text) == 0)
            return id;
    return SUNDOG_TOKEN_NONE;
}

/* gpt-oss ends each part of an answer with "<|end|>", and the answer with one of the others. */
static bool
ends_parts(const SundogVocabulary *vocabulary, const char *text)
{
    return strcmp(text, "<|end|>") == 0 &&
           find_control(vocabulary, "<|return|>") != SUNDOG_TOKEN_NONE &&
           find_control(vocabulary, "<|call|>") != SUNDOG_TOKEN_NONE;
}

void
sundog_vocabulary_add_ends_by_spelling(SundogVocabulary *vocabulary)
{
    for (uint32_t id = 0; id < vocabulary->n_tokens; id++) {
        const SundogToken *token = &vocabulary->tokens[id];
        if (token->kind == SUNDOG_TOKEN_CONTROL && is_end(token->text) &&
            !ends_parts(vocabulary, token->text))
            sundog_vocabulary_add_end(vocabulary, id);
    }
}
