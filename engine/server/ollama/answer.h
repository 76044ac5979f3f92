#pragma once

/*
 * Answers in Ollama's form: a line of JSON a piece, and a last one with the reason and what was measured,
 * in nanoseconds; or that last one alone, with the whole. Tool calls come in a line of their own before
 * the last.
 */

#include "engine/server/answer.h"

/* Of /api/generate, with its text as "response"; and of /api/chat, with a "message". */
extern const SundogAnswerForm sundog_ollama_generate_form;
extern const SundogAnswerForm sundog_ollama_chat_form;

/* "model", "created_at": what every line begins with; the object is left open. */
void sundog_ollama_append_head(GString *json, const char *model);
