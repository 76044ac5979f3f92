#pragma once

/* A small blocking HTTP client on plain sockets: it shows what is on the line, and can misbehave. */

#include <gio/gio.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    unsigned status;
    char *head; /* status line and headers */
    char *body;
    size_t n_bytes;
} Reply;

/* Whole requests on a connection of their own. body NULL: none. headers: whole lines, or NULL; the
 * content type is JSON where they name none. */
Reply *client_send(uint16_t port, const char *method, const char *path, const char *headers,
                   const char *body);
Reply *client_get(uint16_t port, const char *path);
Reply *client_post(uint16_t port, const char *path, const char *body);
void reply_free(Reply *reply);
/* The body as an object; the test fails where it is none. Owned by the caller. */
JsonObject *reply_get_object(const Reply *reply);
/* The object that answers with 200; the test fails with any other answer. Owned by the caller. */
JsonObject *client_post_for_object(uint16_t port, const char *path, const char *body);
/* "error" of the body: the test fails unless message, type, param and code are there. */
const char *reply_get_error(const Reply *reply, JsonObject **error);
/* The test fails unless it is this error, about this field (NULL: any). Takes the reply. */
void reply_assert_error(Reply *reply, unsigned status, const char *code, const char *param);
/* Sends bytes as they are and reads until the server closes. */
Reply *client_send_raw(uint16_t port, const char *bytes, size_t n_bytes);

/* A stream of events. */
typedef struct {
    GSocketConnection *connection;
    GDataInputStream *input;
    unsigned status;
    char *head;
    GString *text; /* undecoded lines */
    int64_t opened_us;
    bool is_chunked;
} Stream;

Stream *stream_open(uint16_t port, const char *path, const char *body);
/* headers: whole lines, as of client_send. */
Stream *stream_open_with(uint16_t port, const char *path, const char *headers, const char *body);
/* The next event: its data, or a comment with its colon; NULL at the end. Owned by the caller. */
char *stream_next(Stream *stream);
/* The next line, of a stream of lines; NULL at the end. Owned by the caller. */
char *stream_next_line(Stream *stream);
/* Closes the socket, whatever is still to come. */
void stream_close(Stream *stream);

/* All of a chat stream: the text of its deltas; checks the shape of every chunk. */
typedef struct {
    GString *text;
    char *finish_reason;
    char *error; /* the whole event with an error, or NULL */
    guint n_deltas;
    guint n_comments;
    bool is_done; /* [DONE] came last */
    JsonObject *usage;
    JsonObject *measured; /* "sundog" */
    int64_t first_us;     /* from opening to the first delta with text */
    int64_t last_us;      /* and to the last */
} Chat;

Chat *chat_read(Stream *stream);
void chat_free(Chat *chat);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Reply, reply_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Stream, stream_close)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Chat, chat_free)
