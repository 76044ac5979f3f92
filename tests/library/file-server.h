#pragma once

/*
 * A file server in the test's own process with scripted faults. Each request is answered by the first
 * of these that has times left: status, empty, cut, stall; then as it should be. Threads of its own,
 * so that the test may block or run a main loop; all of them have ended when file_server_free() returns.
 * Fields are read under the lock.
 */

#include <gio/gio.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t first; /* asked for by Range, 0 without */
    bool has_range;
    bool has_token; /* any Authorization header */
    char *if_range;
    char *path;
} FileRequest;

typedef struct {
    GMutex mutex;
    GSocket
        *placeholder; /* bound and never listening: the port is nobody else's while it is closed */
    GSocketListener *listener;
    GCancellable *stop;
    GThread *thread; /* accepts, so that the test may block */
    uint16_t port;
    uint8_t *data;
    size_t n_bytes;
    const char
        *folder; /* where files lie by their names, 404 for others; NULL: `data` is every file */
    const char *etag; /* NULL: none is sent */
    bool ignores_ranges;
    bool hides_length; /* no Content-Length: the end of the connection ends the file */
    int status_times;
    int status;
    const char *status_headers; /* whole lines, or NULL */
    int empty_times;
    int cut_times; /* closes after cut_bytes of a body */
    size_t cut_bytes;
    int stall_times; /* sends no more after stall_bytes of a body, with the connection open */
    size_t stall_bytes;
    char *moves_to;        /* 302 to this URL, but for paths that begin with /moved */
    uint64_t n_bytes_sent; /* of bodies */
    GPtrArray *requests;   /* FileRequest */
    GPtrArray *conversations;
} FileServer;

FileServer *file_server_new(size_t n_bytes);
void file_server_free(FileServer *server);
/* Closes the listening socket, and opens it again on the same port. */
void file_server_stop(FileServer *server);
void file_server_start(FileServer *server);
char *file_server_dup_url(const FileServer *server, const char *name);
char *file_server_dup_sha256(const FileServer *server);
guint file_server_get_n_requests(FileServer *server);
uint64_t file_server_get_n_bytes_sent(FileServer *server);
/* A copy of request number index, borrowed texts. */
FileRequest file_server_get_request(FileServer *server, guint index);
