/* GET /sundog/v1/state */

#include "engine/server/routes.h"
#include "engine/server/service.h"

void
sundog_state_get(SundogExchange *exchange)
{
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK,
                                 sundog_server_describe(sundog_exchange_get_server(exchange)));
}
