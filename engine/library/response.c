/* Reading the answer of a host that has files. Sources: RFC 9110 (ranges, conditions), and the hub's
 * own X-Error-Code header, which tells gated and missing repositories apart. */

#include "engine/library/response.h"

#include "engine/library/library.h"
#include <string.h>

/* A host's Retry-After beyond this is cut: the person may always try again by hand. */
#define MAX_WAIT_SECONDS 300
/* Of RFC 8470 and RFC 6585, which libsoup 3.2 has no names for. */
#define STATUS_TOO_EARLY 425
#define STATUS_TOO_MANY_REQUESTS 429

static void set_error(SundogResponse *response, SundogResponseKind kind, GError **error, int code,
                      const char *format, ...) G_GNUC_PRINTF(5, 6);

static void
set_error(SundogResponse *response, SundogResponseKind kind, GError **error, int code,
          const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    response->kind = kind;
    g_set_error_literal(error, SUNDOG_LIBRARY_ERROR, code, text);
}

/* The page of the repository that a file belongs to, without user, query and fragment, which may hold
 * secrets: "https://host/owner/name". */
static char *
dup_page(GUri *uri)
{
    const char *path = g_uri_get_path(uri);
    const char *end = strstr(path, "/resolve/");
    g_autofree char *page = g_strndup(path, end ? (size_t)(end - path) : strlen(path));
    int port = g_uri_get_port(uri);
    return g_uri_join(G_URI_FLAGS_NONE, g_uri_get_scheme(uri), NULL, g_uri_get_host(uri), port,
                      page, NULL, NULL);
}

static void
refuse_access(SundogResponse *response, SoupMessage *message, bool has_token, GError **error)
{
    unsigned status = soup_message_get_status(message);
    const char *code =
        soup_message_headers_get_one(soup_message_get_response_headers(message), "X-Error-Code");
    g_autofree char *page = dup_page(soup_message_get_uri(message));
    const char *advice;
    if (g_strcmp0(code, "RepoNotFound") == 0)
        advice = "it is not there, or private: check the name, or set library.token to the token "
                 "of an account that may read it";
    else if (!has_token)
        advice = "it wants an access token: make one on the host's site, accept the model's "
                 "licence on its page if it has one, and set library.token";
    else if (g_strcmp0(code, "GatedRepo") == 0)
        advice = "its licence is not accepted yet: accept it on the page with the account of "
                 "your token, then try again";
    else if (status == SOUP_STATUS_UNAUTHORIZED)
        advice = "your access token was not accepted: it may have ended; set library.token to a "
                 "new one";
    else
        advice = "the account of your token may not read it: accept the licence on its page, or "
                 "ask its maker for access";
    set_error(response, SUNDOG_RESPONSE_FATAL, error, SUNDOG_LIBRARY_ERROR_REFUSED,
              "%s answered with status %u: %s", page, status, advice);
}

static void
refuse(SundogResponse *response, SoupMessage *message, GError **error)
{
    g_autofree char *page = dup_page(soup_message_get_uri(message));
    unsigned status = soup_message_get_status(message);
    bool is_absent = status == SOUP_STATUS_NOT_FOUND || status == SOUP_STATUS_GONE;
    const char *advice =
        is_absent ? "the file is not there: check the name" : soup_status_get_phrase(status);
    set_error(response, SUNDOG_RESPONSE_FATAL, error,
              is_absent ? SUNDOG_LIBRARY_ERROR_ABSENT : SUNDOG_LIBRARY_ERROR_REFUSED,
              "%s answered with status %u: %s", page, status, advice);
}

static void
read_moved(SundogResponse *response, SoupMessage *message, GError **error)
{
    GUri *from = soup_message_get_uri(message);
    const char *location =
        soup_message_headers_get_one(soup_message_get_response_headers(message), "Location");
    g_autoptr(GUri) to =
        location ? g_uri_parse_relative(from, location, SOUP_HTTP_URI_FLAGS, NULL) : NULL;
    const char *scheme = to ? g_uri_get_scheme(to) : "";
    bool is_secure = strcmp(g_uri_get_scheme(from), "https") == 0;
    if (strcmp(scheme, "https") != 0 && (is_secure || strcmp(scheme, "http") != 0)) {
        set_error(response, SUNDOG_RESPONSE_FATAL, error, SUNDOG_LIBRARY_ERROR_REFUSED,
                  "%s sent the download to a place that is not safe to follow",
                  g_uri_get_host(from));
        return;
    }
    response->kind = SUNDOG_RESPONSE_MOVED;
    response->location = g_steal_pointer(&to);
}

static void
read_passing_fault(SundogResponse *response, SoupMessage *message, GError **error)
{
    const char *wish =
        soup_message_headers_get_one(soup_message_get_response_headers(message), "Retry-After");
    if (wish)
        response->wait_seconds = (unsigned)MIN(g_ascii_strtoull(wish, NULL, 10), MAX_WAIT_SECONDS);
    unsigned status = soup_message_get_status(message);
    set_error(response, SUNDOG_RESPONSE_RETRY, error, SUNDOG_LIBRARY_ERROR_NETWORK,
              "%s answered with status %u (%s)", g_uri_get_host(soup_message_get_uri(message)),
              status, soup_status_get_phrase(status));
}

static bool
size_differs(SundogResponse *response, uint64_t expected, GError **error)
{
    if (!expected || !response->total || response->total == expected)
        return false;
    set_error(response, SUNDOG_RESPONSE_FATAL, error, SUNDOG_LIBRARY_ERROR_MISMATCH,
              "The host's file has %" G_GUINT64_FORMAT
              " bytes, the catalogue says %" G_GUINT64_FORMAT ": it is not the same file",
              response->total, expected);
    return true;
}

static void
read_whole(SundogResponse *response, SoupMessageHeaders *headers, uint64_t expected, GError **error)
{
    response->kind = SUNDOG_RESPONSE_WHOLE;
    if (soup_message_headers_get_encoding(headers) != SOUP_ENCODING_CONTENT_LENGTH)
        return;
    response->total = (uint64_t)soup_message_headers_get_content_length(headers);
    /* An empty body is a proxy's or a host's bad moment, no other file. */
    if (response->total == 0)
        set_error(response, SUNDOG_RESPONSE_RETRY, error, SUNDOG_LIBRARY_ERROR_NETWORK,
                  "The host sent an empty file");
    else
        size_differs(response, expected, error);
}

static void
read_rest(SundogResponse *response, SoupMessageHeaders *headers, uint64_t offset, uint64_t expected,
          GError **error)
{
    goffset start = 0, end = 0, total = -1;
    bool is_ranged = soup_message_headers_get_content_range(headers, &start, &end, &total);
    if (!is_ranged || (uint64_t)start != offset) {
        set_error(response, SUNDOG_RESPONSE_RETRY, error, SUNDOG_LIBRARY_ERROR_NETWORK,
                  "The host sent bytes from %" G_GOFFSET_FORMAT
                  " on in place of %" G_GUINT64_FORMAT,
                  start, offset);
        return;
    }
    response->kind = SUNDOG_RESPONSE_REST;
    response->total = total > 0 ? (uint64_t)total : 0;
    size_differs(response, expected, error);
}

/* "bytes * / TOTAL" says how long the file is. */
static void
read_unsatisfiable(SundogResponse *response, SoupMessageHeaders *headers, uint64_t offset)
{
    const char *range = soup_message_headers_get_one(headers, "Content-Range");
    const char *slash = range ? strrchr(range, '/') : NULL;
    response->total = slash ? g_ascii_strtoull(slash + 1, NULL, 10) : 0;
    response->kind = response->total == offset ? SUNDOG_RESPONSE_COMPLETE : SUNDOG_RESPONSE_RETRY;
}

/* If-Range takes strong validators alone (RFC 9110, 13.1.5). */
static char *
dup_validator(SoupMessageHeaders *headers)
{
    const char *etag = soup_message_headers_get_one(headers, "ETag");
    if (etag && g_str_has_prefix(etag, "\""))
        return g_strdup(etag);
    return etag ? NULL : g_strdup(soup_message_headers_get_one(headers, "Last-Modified"));
}

static bool
is_passing(unsigned status)
{
    return status >= 500 || status == SOUP_STATUS_REQUEST_TIMEOUT ||
           status == STATUS_TOO_MANY_REQUESTS || status == STATUS_TOO_EARLY;
}

void
sundog_response_read(SundogResponse *response, SoupMessage *message, uint64_t offset,
                     uint64_t expected, bool has_token, GError **error)
{
    SoupMessageHeaders *headers = soup_message_get_response_headers(message);
    unsigned status = soup_message_get_status(message);
    *response = (SundogResponse){.validator = dup_validator(headers)};
    if (status == SOUP_STATUS_OK) {
        read_whole(response, headers, expected, error);
    } else if (status == SOUP_STATUS_PARTIAL_CONTENT) {
        read_rest(response, headers, offset, expected, error);
    } else if (status == SOUP_STATUS_REQUESTED_RANGE_NOT_SATISFIABLE) {
        read_unsatisfiable(response, headers, offset);
        if (response->kind == SUNDOG_RESPONSE_RETRY)
            set_error(response, SUNDOG_RESPONSE_RETRY, error, SUNDOG_LIBRARY_ERROR_NETWORK,
                      "The host's file is shorter than what was fetched of it");
    } else if (status == SOUP_STATUS_NOT_MODIFIED) {
        refuse(response, message, error);
    } else if (SOUP_STATUS_IS_REDIRECTION(status)) {
        read_moved(response, message, error);
    } else if (status == SOUP_STATUS_UNAUTHORIZED || status == SOUP_STATUS_FORBIDDEN) {
        refuse_access(response, message, has_token, error);
    } else if (is_passing(status)) {
        read_passing_fault(response, message, error);
    } else {
        refuse(response, message, error);
    }
}

void
sundog_response_clear(SundogResponse *response)
{
    g_clear_pointer(&response->validator, g_free);
    g_clear_pointer(&response->location, g_uri_unref);
}
