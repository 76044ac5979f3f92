/* POST /v1/messages/count_tokens -> {"input_tokens"} */

#include "engine/server/anthropic/request.h"
#include "engine/server/routes.h"

static void
reply(SundogExchange *exchange, const SundogCompletionRequest *request,
      const SundogEncoded *encoded)
{
    JsonObject *object = json_object_new();
    json_object_set_int_member(object, "input_tokens", encoded->tokens->len);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

void
sundog_count_tokens(SundogExchange *exchange)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    if (!object)
        return;
    SundogCompletionRequest *request = sundog_anthropic_request_read(exchange, object, &error);
    if (request)
        sundog_completion_request_encode(request, exchange, reply);
    else
        sundog_exchange_fail(exchange, error);
}
