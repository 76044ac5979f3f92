/* A script, its log and its gate. */

#include "tests/wire/script.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static JsonObject *script;
static JsonObject *start_script; /* members that replace the script's, or NULL */
static int log_fd = -1;
static char *gate_path;

JsonNode *
script_member(JsonObject *object, const char *name)
{
    return object && json_object_has_member(object, name) ? json_object_get_member(object, name)
                                                          : NULL;
}

JsonNode *
script_find(const char *name)
{
    JsonNode *node = script_member(start_script, name);
    return node ? node : script_member(script, name);
}

JsonObject *
script_find_object(const char *name)
{
    JsonNode *node = script_find(name);
    return node ? json_node_get_object(node) : NULL;
}

int64_t
script_get_int(JsonObject *object, const char *name, int64_t otherwise)
{
    JsonNode *node = script_member(object, name);
    return node ? json_node_get_int(node) : otherwise;
}

const char *
script_get_text(JsonObject *object, const char *name, const char *otherwise)
{
    JsonNode *node = script_member(object, name);
    return node ? json_node_get_string(node) : otherwise;
}

bool
script_get_bool(JsonObject *object, const char *name)
{
    JsonNode *node = script_member(object, name);
    return node && json_node_get_boolean(node);
}

static char *
find_script(const char *core)
{
    if (g_file_test(core, G_FILE_TEST_IS_REGULAR))
        return g_strdup(core);
    char *inside = g_build_filename(core, "script.json", NULL);
    if (g_file_test(inside, G_FILE_TEST_EXISTS))
        return inside;
    g_free(inside);
    return g_strconcat(core, ".json", NULL);
}

/* The log beside the script */

void
script_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *line = g_strconcat(text, "\n", NULL);
    if (log_fd >= 0 && write(log_fd, line, strlen(line)) < 0)
        g_printerr("scripted-engine: cannot write its log: %s\n", g_strerror(errno));
}

static uint32_t
count_starts(const char *path)
{
    g_autofree char *text = NULL;
    uint32_t n_starts = 0;
    if (g_file_get_contents(path, &text, NULL, NULL))
        for (const char *at = text; (at = strstr(at, "\"event\":\"start\"")); at++)
            n_starts++;
    return n_starts;
}

void
script_open(const char *core)
{
    g_autofree char *path = find_script(core);
    g_autofree char *log_path = g_strconcat(path, ".log", NULL);
    gate_path = g_strconcat(path, ".gate", NULL);
    uint32_t n_starts = count_starts(log_path);
    log_fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) error = NULL;
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        script = json_object_new();
    } else if (json_parser_load_from_file(parser, path, &error)) {
        script = json_object_ref(json_node_get_object(json_parser_get_root(parser)));
    } else {
        g_printerr("scripted-engine: %s: %s\n", path, error->message);
        exit(2);
    }
    JsonNode *starts = script_member(script, "starts");
    if (starts) {
        JsonArray *list = json_node_get_array(starts);
        guint last = json_array_get_length(list) - 1;
        start_script = json_array_get_object_element(list, MIN(n_starts, last));
    }
    script_note("{\"event\":\"start\",\"pid\":%d,\"n\":%u}", (int)getpid(), n_starts);
}

bool
script_passes_gate(bool *held)
{
    if (access(gate_path, F_OK) == 0)
        return true;
    if (!*held)
        script_note("{\"event\":\"held\"}");
    *held = true;
    return false;
}
