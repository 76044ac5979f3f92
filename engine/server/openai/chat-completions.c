/* POST /v1/chat/completions */

#include "engine/server/openai/answer.h"
#include "engine/server/openai/messages.h"
#include "engine/server/routes.h"

static bool
read_prompt(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    return sundog_openai_messages_read(&request->prompt, object, error);
}

void
sundog_chat_completions(SundogExchange *exchange)
{
    sundog_openai_answer(exchange, SUNDOG_OPENAI_CHAT, read_prompt);
}
