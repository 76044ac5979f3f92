/* The scripted file server. */

#include "tests/library/file-server.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 8192
#define WRITE_BYTES 16384

static void
request_free(void *data)
{
    FileRequest *request = data;
    g_free(request->if_range);
    g_free(request->path);
    g_free(request);
}

static char *
dup_header(const char *head, const char *name)
{
    g_auto(GStrv) lines = g_strsplit(head, "\r\n", -1);
    for (char **line = lines; *line; line++) {
        size_t n_name = strlen(name);
        if (g_ascii_strncasecmp(*line, name, n_name) == 0 && (*line)[n_name] == ':')
            return g_strstrip(g_strdup(*line + n_name + 1));
    }
    return NULL;
}

static FileRequest *
read_request(GInputStream *input)
{
    char head[HEAD_BYTES] = "";
    size_t n = 0;
    while (n < sizeof head - 1 && !strstr(head, "\r\n\r\n")) {
        gssize got = g_input_stream_read(input, head + n, 1, NULL, NULL);
        if (got <= 0)
            return NULL;
        n += (size_t)got;
    }
    FileRequest *request = g_new0(FileRequest, 1);
    g_autofree char *range = dup_header(head, "Range");
    g_autofree char *token = dup_header(head, "Authorization");
    g_auto(GStrv) words = g_strsplit(head, " ", 3);
    request->path = g_strdup(words[1]);
    request->if_range = dup_header(head, "If-Range");
    request->has_token = token != NULL;
    request->has_range = range && g_str_has_prefix(range, "bytes=");
    if (request->has_range)
        request->first = g_ascii_strtoull(range + strlen("bytes="), NULL, 10);
    return request;
}

/* What this request gets, decided under the lock. */
typedef struct {
    GString *head;
    char *own; /* the file of this request, owned; NULL: the server's one */
    const uint8_t *data;
    size_t n_all;
    size_t first;
    size_t n_bytes; /* of the body that are sent */
    bool stalls;
} Plan;

static bool
take(int *times)
{
    if (*times <= 0)
        return false;
    (*times)--;
    return true;
}

/* The bytes that the request's path names. */
static bool
find_file(const FileServer *server, const FileRequest *request, Plan *plan)
{
    plan->data = server->data;
    plan->n_all = server->n_bytes;
    if (!server->folder)
        return true;
    g_autofree char *name = g_path_get_basename(request->path);
    name[strcspn(name, "?")] = '\0';
    g_autofree char *path = g_build_filename(server->folder, name, NULL);
    bool found = g_file_get_contents(path, &plan->own, &plan->n_all, NULL);
    plan->data = (const uint8_t *)plan->own;
    return found;
}

static void
plan_file(FileServer *server, const FileRequest *request, Plan *plan)
{
    if (!find_file(server, request, plan)) {
        g_string_assign(plan->head, "HTTP/1.1 404 None\r\nContent-Length: 0\r\n");
        return;
    }
    bool is_same = !request->if_range || g_strcmp0(request->if_range, server->etag) == 0;
    bool is_rest = request->has_range && !server->ignores_ranges && is_same;
    plan->first = is_rest ? MIN(request->first, plan->n_all) : 0;
    plan->n_bytes = plan->n_all - plan->first;
    if (is_rest && plan->n_bytes == 0) {
        g_string_printf(plan->head, "HTTP/1.1 416 Nothing left\r\nContent-Range: bytes */%zu\r\n",
                        plan->n_all);
    } else if (is_rest) {
        g_string_printf(plan->head,
                        "HTTP/1.1 206 Rest\r\nContent-Range: bytes %zu-%zu/%zu\r\n"
                        "Content-Length: %zu\r\n",
                        plan->first, plan->n_all - 1, plan->n_all, plan->n_bytes);
    } else {
        g_string_assign(plan->head, "HTTP/1.1 200 OK\r\n");
        if (!server->hides_length)
            g_string_append_printf(plan->head, "Content-Length: %zu\r\n", plan->n_bytes);
    }
    if (server->etag)
        g_string_append_printf(plan->head, "ETag: %s\r\n", server->etag);
    if (take(&server->cut_times))
        plan->n_bytes = MIN(plan->n_bytes, server->cut_bytes);
    else if (take(&server->stall_times)) {
        plan->n_bytes = MIN(plan->n_bytes, server->stall_bytes);
        plan->stalls = true;
    }
}

static void
make_plan(FileServer *server, const FileRequest *request, Plan *plan)
{
    if (server->moves_to && !g_str_has_prefix(request->path, "/moved"))
        g_string_printf(plan->head, "HTTP/1.1 302 There\r\nLocation: %s\r\nContent-Length: 0\r\n",
                        server->moves_to);
    else if (take(&server->status_times))
        g_string_printf(plan->head, "HTTP/1.1 %d Fault\r\nContent-Length: 0\r\n%s", server->status,
                        server->status_headers ? server->status_headers : "");
    else if (take(&server->empty_times))
        g_string_assign(plan->head, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
    else
        plan_file(server, request, plan);
    g_string_append(plan->head, "Connection: close\r\n\r\n");
}

static void
send_body(FileServer *server, GOutputStream *output, const Plan *plan)
{
    for (size_t done = 0; done < plan->n_bytes;) {
        size_t n = MIN(plan->n_bytes - done, WRITE_BYTES);
        if (!g_output_stream_write_all(output, plan->data + plan->first + done, n, NULL, NULL,
                                       NULL))
            return;
        done += n;
        g_mutex_lock(&server->mutex);
        server->n_bytes_sent += n;
        g_mutex_unlock(&server->mutex);
    }
}

typedef struct {
    FileServer *server;
    GSocketConnection *connection;
    GThread *thread;
} Conversation;

/* Whatever it waits for on the line, it waits no longer. */
static void
conversation_free(void *data)
{
    Conversation *conversation = data;
    g_socket_shutdown(g_socket_connection_get_socket(conversation->connection), true, true, NULL);
    g_thread_join(conversation->thread);
    g_object_unref(conversation->connection);
    g_free(conversation);
}

static void
answer(FileServer *server, GSocketConnection *connection)
{
    GInputStream *input = g_io_stream_get_input_stream(G_IO_STREAM(connection));
    GOutputStream *output = g_io_stream_get_output_stream(G_IO_STREAM(connection));
    FileRequest *request = read_request(input);
    if (!request)
        return;
    Plan plan = {.head = g_string_new(NULL)};
    g_mutex_lock(&server->mutex);
    g_ptr_array_add(server->requests, request);
    make_plan(server, request, &plan);
    g_mutex_unlock(&server->mutex);
    g_output_stream_write_all(output, plan.head->str, plan.head->len, NULL, NULL, NULL);
    send_body(server, output, &plan);
    char byte;
    /* Until the client has had enough of waiting. */
    if (plan.stalls)
        g_input_stream_read(input, &byte, 1, NULL, NULL);
    g_string_free(plan.head, true);
    g_free(plan.own);
}

static void *
converse(void *data)
{
    Conversation *conversation = data;
    answer(conversation->server, conversation->connection);
    g_socket_shutdown(g_socket_connection_get_socket(conversation->connection), true, true, NULL);
    return NULL;
}

static void *
accept_all(void *data)
{
    FileServer *server = data;
    GSocketConnection *connection;
    while ((connection = g_socket_listener_accept(server->listener, NULL, server->stop, NULL))) {
        Conversation *conversation = g_new0(Conversation, 1);
        *conversation = (Conversation){.server = server, .connection = connection};
        conversation->thread = g_thread_new("file", converse, conversation);
        g_ptr_array_add(server->conversations, conversation);
    }
    return NULL;
}

static void
take_port(FileServer *server)
{
    g_autoptr(GInetAddress) loopback = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
    g_autoptr(GSocketAddress) any = g_inet_socket_address_new(loopback, 0);
    g_autoptr(GError) error = NULL;
    server->placeholder =
        g_socket_new(G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, &error);
    g_assert_no_error(error);
    g_socket_bind(server->placeholder, any, true, &error);
    g_assert_no_error(error);
    g_autoptr(GSocketAddress) bound = g_socket_get_local_address(server->placeholder, &error);
    g_assert_no_error(error);
    server->port = g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(bound));
}

void
file_server_start(FileServer *server)
{
    server->listener = g_socket_listener_new();
    server->stop = g_cancellable_new();
    g_autoptr(GInetAddress) loopback = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4);
    g_autoptr(GSocketAddress) address = g_inet_socket_address_new(loopback, server->port);
    g_autoptr(GError) error = NULL;
    g_socket_listener_add_address(server->listener, address, G_SOCKET_TYPE_STREAM,
                                  G_SOCKET_PROTOCOL_TCP, NULL, NULL, &error);
    g_assert_no_error(error);
    server->thread = g_thread_new("files", accept_all, server);
}

void
file_server_stop(FileServer *server)
{
    g_cancellable_cancel(server->stop);
    g_thread_join(g_steal_pointer(&server->thread));
    g_socket_listener_close(server->listener);
    g_clear_object(&server->listener);
    g_clear_object(&server->stop);
}

FileServer *
file_server_new(size_t n_bytes)
{
    FileServer *server = g_new0(FileServer, 1);
    g_mutex_init(&server->mutex);
    server->etag = "\"one\"";
    server->n_bytes = n_bytes;
    server->data = g_malloc(n_bytes);
    for (size_t i = 0; i < n_bytes; i++)
        server->data[i] = (uint8_t)(i * 2654435761u >> 13);
    memcpy(server->data, "GGUF", 4);
    server->requests = g_ptr_array_new_with_free_func(request_free);
    server->conversations = g_ptr_array_new_with_free_func(conversation_free);
    take_port(server);
    file_server_start(server);
    return server;
}

void
file_server_free(FileServer *server)
{
    if (server->listener)
        file_server_stop(server);
    g_ptr_array_unref(server->conversations);
    g_object_unref(server->placeholder);
    g_ptr_array_unref(server->requests);
    g_mutex_clear(&server->mutex);
    g_free(server->moves_to);
    g_free(server->data);
    g_free(server);
}

char *
file_server_dup_url(const FileServer *server, const char *name)
{
    return g_strdup_printf("http://127.0.0.1:%u/owner/repository/resolve/main/%s", server->port,
                           name);
}

char *
file_server_dup_sha256(const FileServer *server)
{
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, server->data, server->n_bytes);
}

guint
file_server_get_n_requests(FileServer *server)
{
    g_mutex_lock(&server->mutex);
    guint n = server->requests->len;
    g_mutex_unlock(&server->mutex);
    return n;
}

uint64_t
file_server_get_n_bytes_sent(FileServer *server)
{
    g_mutex_lock(&server->mutex);
    uint64_t n = server->n_bytes_sent;
    g_mutex_unlock(&server->mutex);
    return n;
}

FileRequest
file_server_get_request(FileServer *server, guint index)
{
    g_mutex_lock(&server->mutex);
    g_assert_cmpuint(index, <, server->requests->len);
    FileRequest request = *(FileRequest *)server->requests->pdata[index];
    g_mutex_unlock(&server->mutex);
    return request;
}
