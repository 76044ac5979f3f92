/* /sundog/v1/jobs: GET, POST; /sundog/v1/jobs/ID: GET, DELETE; and POST …/ID/pause, …/ID/resume */

#include "engine/server/routes.h"
#include "engine/server/service.h"
#include <string.h>

void
sundog_jobs_get_list(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    JsonObject *object = json_object_new();
    json_object_set_array_member(object, "jobs", sundog_jobs_describe_all(server->jobs));
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

void
sundog_jobs_post(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    JsonObject *request = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    if (!request)
        return;
    JsonObject *job = sundog_jobs_add(server->jobs, request, &error);
    if (job)
        sundog_exchange_reply_object(exchange, SOUP_STATUS_CREATED, job);
    else
        sundog_exchange_fail(exchange, error);
}

static void
reply_job(SundogExchange *exchange, const char *id)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    JsonObject *job = sundog_jobs_describe(server->jobs, id);
    if (job)
        sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, job);
    else
        sundog_exchange_fail(exchange,
                             sundog_api_error_new(SUNDOG_API_ERROR_NO_JOB, NULL, id, NULL));
}

void
sundog_jobs_get(SundogExchange *exchange)
{
    reply_job(exchange, sundog_exchange_get_argument(exchange));
}

void
sundog_jobs_delete(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    SundogApiError *error = NULL;
    if (sundog_jobs_remove(server->jobs, sundog_exchange_get_argument(exchange), &error))
        sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, json_object_new());
    else
        sundog_exchange_fail(exchange, error);
}

void
sundog_jobs_change(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    SundogApiError *error = NULL;
    g_auto(GStrv) parts = g_strsplit(sundog_exchange_get_argument(exchange), "/", 3);
    const char *verb = g_strv_length(parts) == 2 ? parts[1] : "";
    if (strcmp(verb, "pause") == 0)
        sundog_jobs_pause(server->jobs, parts[0], &error);
    else if (strcmp(verb, "resume") == 0)
        sundog_jobs_resume(server->jobs, parts[0], &error);
    else
        error = sundog_api_error_new(SUNDOG_API_ERROR_NOT_FOUND, NULL,
                                     sundog_exchange_get_path(exchange), NULL);
    if (error)
        sundog_exchange_fail(exchange, error);
    else
        reply_job(exchange, parts[0]);
}
