/* Requests that are over. */

#include "engine/server/request-log.h"

#include "engine/format/json.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_ENDED 50
#define MAX_FILE_BYTES (16 << 20)
/* Of a prompt or an answer. */
#define MAX_TEXT_BYTES (256u << 10)

struct SundogRequestLog {
    GQueue ended; /* JsonObject, oldest first */
    char *path;   /* or NULL */
    bool with_texts;
};

SundogRequestLog *
sundog_request_log_new(const char *path, bool with_texts)
{
    SundogRequestLog *log = g_new0(SundogRequestLog, 1);
    log->path = g_strdup(path);
    log->with_texts = with_texts;
    return log;
}

void
sundog_request_log_free(SundogRequestLog *log)
{
    if (!log)
        return;
    g_queue_clear_full(&log->ended, (GDestroyNotify)json_object_unref);
    g_free(log->path);
    g_free(log);
}

/* The file */

static void
set_text(JsonObject *object, const char *name, const SundogCoreText *core, const GArray *tokens)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    for (guint i = 0; i < tokens->len && bytes->len < MAX_TEXT_BYTES; i++)
        sundog_tokenizer_append_bytes(core->tokenizer, g_array_index(tokens, uint32_t, i), true,
                                      bytes);
    g_autofree char *text = g_utf8_make_valid((const char *)bytes->data, (gssize)bytes->len);
    json_object_set_string_member(object, name, text);
}

static char *
dup_line(const SundogRequestLog *log, const SundogGeneration *generation)
{
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    JsonObject *object = sundog_generation_describe(generation);
    if (log->with_texts) {
        set_text(object, "prompt", generation->core, generation->prompt);
        set_text(object, "answer", generation->core, generation->produced);
    }
    json_node_take_object(node, object);
    g_autofree char *text = sundog_json_print(node, false);
    return g_strconcat(text, "\n", NULL);
}

static bool
write_line(const char *path, const char *line, GError **error)
{
    size_t n_bytes = strlen(line);
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_written = file >= 0 && write(file, line, n_bytes) == (ssize_t)n_bytes;
    if (!is_written)
        g_set_error(error, G_IO_ERROR, (int)g_io_error_from_errno(errno),
                    "Requests are not written to %s any more: %s", path, g_strerror(errno));
    bool is_long = is_written && lseek(file, 0, SEEK_END) > MAX_FILE_BYTES;
    if (file >= 0)
        close(file);
    g_autofree char *earlier = g_strconcat(path, ".1", NULL);
    if (is_long)
        g_rename(path, earlier);
    return is_written;
}

bool
sundog_request_log_add(SundogRequestLog *log, const SundogGeneration *generation, GError **error)
{
    g_queue_push_tail(&log->ended, sundog_generation_describe(generation));
    if (log->ended.length > MAX_ENDED)
        json_object_unref(g_queue_pop_head(&log->ended));
    if (!log->path)
        return true;
    g_autofree char *line = dup_line(log, generation);
    bool is_written = write_line(log->path, line, error);
    if (!is_written)
        g_clear_pointer(&log->path, g_free);
    return is_written;
}

void
sundog_request_log_describe(const SundogRequestLog *log, JsonArray *array)
{
    for (GList *link = log->ended.tail; link; link = link->prev)
        json_array_add_object_element(array, json_object_ref(link->data));
}
