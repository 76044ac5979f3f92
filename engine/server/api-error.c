/* Errors for clients. */

#include "engine/server/api-error.h"

#include <string.h>

typedef struct {
    unsigned status;
    const char *type;
    const char *code;
    const char *text;
} Row;

static const Row rows[] = {
#define X(name, status, type, code, text) {status, type, code, text},
    SUNDOG_API_ERRORS(X)
#undef X
};

static char *
fill(const char *text, va_list values)
{
    GString *filled = g_string_new(NULL);
    const char *hole;
    while ((hole = strstr(text, "{}"))) {
        const char *value = va_arg(values, const char *);
        g_string_append_len(filled, text, hole - text);
        if (!value)
            break;
        g_string_append(filled, value);
        text = hole + 2;
    }
    g_string_append(filled, text);
    return g_string_free(filled, false);
}

static SundogApiError *
new_valist(SundogApiErrorCode code, const char *param, va_list values)
{
    SundogApiError *error = g_new0(SundogApiError, 1);
    error->code = code;
    error->param = g_strdup(param);
    error->retry_after_s = code == SUNDOG_API_ERROR_QUEUE_FULL;
    g_autofree char *text = fill(rows[code].text, values);
    error->text = g_utf8_make_valid(text, -1);
    return error;
}

SundogApiError *
sundog_api_error_new(SundogApiErrorCode code, const char *param, ...)
{
    va_list values;
    va_start(values, param);
    SundogApiError *error = new_valist(code, param, values);
    va_end(values);
    return error;
}

bool
sundog_api_error_set(SundogApiError **error, SundogApiErrorCode code, const char *param, ...)
{
    g_assert(!*error);
    va_list values;
    va_start(values, param);
    *error = new_valist(code, param, values);
    va_end(values);
    return false;
}

void
sundog_api_error_free(SundogApiError *error)
{
    if (!error)
        return;
    g_free(error->param);
    g_free(error->text);
    g_free(error);
}

unsigned
sundog_api_error_get_status(const SundogApiError *error)
{
    return rows[error->code].status;
}

const char *
sundog_api_error_get_type(const SundogApiError *error)
{
    return rows[error->code].type;
}

const char *
sundog_api_error_get_code(const SundogApiError *error)
{
    return rows[error->code].code;
}

SundogApiError *
sundog_api_error_copy(const SundogApiError *error)
{
    SundogApiError *copy = g_new0(SundogApiError, 1);
    *copy = (SundogApiError){error->code, g_strdup(error->param), g_strdup(error->text),
                             error->retry_after_s};
    return copy;
}
