#pragma once

/* A chat as OpenAI's API writes it: messages, and with them llama-server's chat_template_kwargs and
 * add_generation_prompt. */

#include "engine/server/prompt.h"

bool sundog_openai_messages_read(SundogPrompt *prompt, JsonObject *object, SundogApiError **error);
