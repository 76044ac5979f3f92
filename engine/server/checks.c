/* Checks of requests. */

#include "engine/server/checks.h"

#include "engine/server/dialect.h"
#include "engine/server/listener.h"
#include <string.h>

/* How long a client may go on sending what is not read, before its connection is closed. */
#define LINGER_MS 2000

/* Schemes of programs' own windows (editors, note takers), which no web page can have. */
static const char *const program_schemes[] = {"app://", "tauri://", "vscode-file://",
                                              "vscode-webview://"};

static const char *
get_header(SoupServerMessage *message, const char *name)
{
    return soup_message_headers_get_one(soup_server_message_get_request_headers(message), name);
}

/* The host of "host:port", "[::1]:port" or "host"; owned by the caller. */
static char *
dup_host(const char *text)
{
    if (text[0] == '[') {
        const char *end = strchr(text, ']');
        return end ? g_strndup(text + 1, (size_t)(end - text - 1)) : g_strdup("");
    }
    return g_ascii_strdown(text, (gssize)strcspn(text, ":"));
}

static bool
is_loopback_name(const char *host)
{
    if (g_ascii_strcasecmp(host, "localhost") == 0)
        return true;
    g_autoptr(GInetAddress) address = g_inet_address_new_from_string(host);
    return address && g_inet_address_get_is_loopback(address);
}

/* On other addresses a key is demanded, which a page that has rebound a name cannot know. */
static bool
host_is_allowed(const SundogChecks *checks, const char *header)
{
    if (!is_loopback_name(checks->address))
        return true;
    g_autofree char *host = dup_host(header);
    return is_loopback_name(host);
}

bool
sundog_checks_allow_origin(const SundogChecks *checks, const char *origin)
{
    for (size_t i = 0; i < G_N_ELEMENTS(program_schemes); i++)
        if (g_str_has_prefix(origin, program_schemes[i]))
            return true;
    g_auto(GStrv) allowed = g_strsplit(checks->origins, ",", -1);
    for (char **entry = allowed; *entry; entry++) {
        const char *wanted = g_strstrip(*entry);
        if (*wanted && g_ascii_strcasecmp(wanted, origin) == 0)
            return true;
    }
    return false;
}

/* In the time of the longer text, whatever the difference is. */
static bool
is_same_key(const char *given, const char *key)
{
    size_t n_given = strlen(given), n_key = strlen(key);
    unsigned difference = n_given != n_key;
    for (size_t i = 0; i < n_given; i++)
        difference |= (unsigned char)given[i] ^ (unsigned char)key[n_key ? i % n_key : 0];
    return difference == 0;
}

/* What the client says is its key, or NULL. */
static const char *
get_given(SoupServerMessage *message, bool in_bearer)
{
    const char *bearer = get_header(message, "Authorization");
    if (!in_bearer)
        return get_header(message, "x-api-key");
    return bearer && g_ascii_strncasecmp(bearer, "Bearer ", 7) == 0 ? bearer + 7 : NULL;
}

/* The owner's key opens everything, and without one everybody is the owner, unless there are keys of
 * clients: then others are kept out. */
static SundogApiError *
check_key(const SundogChecks *checks, SoupServerMessage *message, SundogRouteAccess access,
          SundogApiKey **key)
{
    if (!*checks->key && sundog_api_keys_get_all(checks->keys)->len == 0)
        return NULL;
    for (int i = 0; i < 2; i++) {
        const char *given = get_given(message, i == 0);
        if (given && *checks->key && is_same_key(given, checks->key))
            return NULL;
        if (given && !*key)
            *key = sundog_api_keys_find(checks->keys, given);
    }
    if (!*key)
        return sundog_api_error_new(SUNDOG_API_ERROR_WRONG_KEY, NULL, NULL);
    const char *path = g_uri_get_path(soup_server_message_get_uri(message));
    return access == SUNDOG_ROUTE_FOR_OWNER
               ? sundog_api_error_new(SUNDOG_API_ERROR_NOT_OWNER, NULL, (*key)->name, path, NULL)
               : NULL;
}

/* A page can send a body without JSON's type and without asking first, but not without its origin. So
 * programs may leave the type out, and for Ollama's clients it may be curl's. */
static bool
is_json(SoupServerMessage *message)
{
    static const char form[] = "application/x-www-form-urlencoded";
    SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
    const char *type = soup_message_headers_get_content_type(headers, NULL);
    bool is_of_page = get_header(message, "Origin") || get_header(message, "Sec-Fetch-Site");
    bool is_form = type && g_ascii_strcasecmp(type, form) == 0;
    if (!is_of_page && (!get_header(message, "Content-Type") ||
                        (is_form && sundog_dialect_of(message) == SUNDOG_DIALECT_OLLAMA)))
        return true;
    return type &&
           (g_ascii_strcasecmp(type, "application/json") == 0 || g_str_has_suffix(type, "+json"));
}

static bool
has_body(SoupServerMessage *message)
{
    SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
    SoupEncoding encoding = soup_message_headers_get_encoding(headers);
    return encoding == SOUP_ENCODING_CHUNKED ||
           (encoding == SOUP_ENCODING_CONTENT_LENGTH &&
            soup_message_headers_get_content_length(headers) > 0);
}

SundogApiError *
sundog_checks_run(const SundogChecks *checks, SoupServerMessage *message, SundogRouteAccess access,
                  SundogApiKey **key)
{
    const char *host = get_header(message, "Host");
    const char *origin = get_header(message, "Origin");
    const char *site = get_header(message, "Sec-Fetch-Site");
    const char *type = get_header(message, "Content-Type");
    /* Only HTTP/1.0 may leave Host out, and no browser speaks that. */
    if (host && !host_is_allowed(checks, host))
        return sundog_api_error_new(SUNDOG_API_ERROR_BAD_HOST, NULL, host, NULL);
    if (origin && !sundog_checks_allow_origin(checks, origin))
        return sundog_api_error_new(SUNDOG_API_ERROR_BAD_ORIGIN, NULL, origin, NULL);
    if (!origin && g_strcmp0(site, "cross-site") == 0)
        return sundog_api_error_new(SUNDOG_API_ERROR_BAD_ORIGIN, NULL, "another site", NULL);
    SundogApiError *error =
        access == SUNDOG_ROUTE_FOR_ANYONE ? NULL : check_key(checks, message, access, key);
    if (error)
        return error;
    if (has_body(message) && !is_json(message))
        return sundog_api_error_new(SUNDOG_API_ERROR_MEDIA_TYPE, NULL, type ? type : "", NULL);
    return NULL;
}

/* The bound on bodies */

static gboolean
on_linger_over(void *data)
{
    g_socket_shutdown(data, true, true, NULL);
    return G_SOURCE_REMOVE;
}

/* libsoup answers a request only when all of its body has come, and keeps it until then; so what is
 * too long is answered past it, on the socket. */
static void
refuse_body(SoupServerMessage *message)
{
    SoupMessageBody *body = soup_server_message_get_request_body(message);
    soup_message_body_set_accumulate(body, false);
    GSocket *socket = sundog_listener_get_socket(message);
    if (!socket || g_object_get_data(G_OBJECT(socket), "sundog-refused"))
        return;
    g_object_set_data(G_OBJECT(socket), "sundog-refused", socket);
    g_autofree char *limit = g_strdup_printf("%u", SUNDOG_MAX_BODY_BYTES);
    g_autoptr(SundogApiError) error =
        sundog_api_error_new(SUNDOG_API_ERROR_TOO_LARGE, NULL, limit, NULL);
    g_autofree char *text = sundog_dialect_print_error(sundog_dialect_of(message), error);
    g_autofree char *answer = g_strdup_printf(
        "HTTP/1.1 413 Request Entity Too Large\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
        strlen(text), text);
    g_socket_send(socket, answer, strlen(answer), NULL, NULL);
    g_socket_shutdown(socket, false, true, NULL);
    g_autoptr(GSource) timer = g_timeout_source_new(LINGER_MS);
    g_source_set_callback(timer, on_linger_over, g_object_ref(socket), g_object_unref);
    g_source_attach(timer, g_main_context_get_thread_default());
}

static void
on_headers(SoupServerMessage *message, void *data)
{
    SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
    sundog_listener_touch(message);
    if (soup_message_headers_get_encoding(headers) != SOUP_ENCODING_CONTENT_LENGTH)
        return;
    goffset length = soup_message_headers_get_content_length(headers);
    /* A negative length reads as one without end. */
    if (length > SUNDOG_MAX_BODY_BYTES || length < 0)
        refuse_body(message);
}

static void
on_chunk(SoupServerMessage *message, GBytes *chunk, void *data)
{
    size_t *n_bytes = data;
    sundog_listener_touch(message);
    *n_bytes += g_bytes_get_size(chunk);
    if (*n_bytes > SUNDOG_MAX_BODY_BYTES)
        refuse_body(message);
}

static void
free_count(void *data, GClosure *closure)
{
    g_free(data);
}

void
sundog_checks_bound_body(SoupServerMessage *message)
{
    g_signal_connect(message, "got-headers", G_CALLBACK(on_headers), NULL);
    g_signal_connect_data(message, "got-chunk", G_CALLBACK(on_chunk), g_new0(size_t, 1), free_count,
                          0);
}
