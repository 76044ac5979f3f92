/* What a fit says of one core on this machine. */

#include "engine/library/fit-file.h"

#include "engine/format/json.h"
#include "engine/library/paths.h"
#include <glib/gstdio.h>
#include <string.h>

#define VERSION 1

/* The folder is made where it is missing; owned by the caller. */
static char *
dup_path(const char *core)
{
    g_autofree char *folder = g_build_filename(sundog_paths_get_cache(), "fits", NULL);
    g_autofree char *file = g_strconcat(core, ".json", NULL);
    g_mkdir_with_parents(folder, 0700);
    return g_build_filename(folder, file, NULL);
}

static JsonObject *
to_json(const SundogFitFile *fit)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
    JsonObject *object = json_object_new();
    json_object_set_int_member(object, "version", VERSION);
    json_object_set_string_member(object, "core", fit->core);
    json_object_set_string_member(object, "created", fit->created != NULL ? fit->created : "");
    json_object_set_string_member(object, "device", fit->device);
    json_object_set_int_member(object, "n_threads", fit->n_threads);
    json_object_set_string_member(object, "measured", time);
    json_object_set_double_member(object, "prefill_tokens_per_second",
                                  fit->prefill_tokens_per_second);
    json_object_set_double_member(object, "decode_tokens_per_second",
                                  fit->decode_tokens_per_second);
    return object;
}

bool
sundog_fit_file_write(const SundogFitFile *fit, GError **error)
{
    g_return_val_if_fail(strchr(fit->core, '/') == NULL, false);
    g_autofree char *path = dup_path(fit->core);
    g_autoptr(JsonObject) object = to_json(fit);
    g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
    g_autofree char *text = sundog_json_print(node, true);
    return g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, error);
}

JsonObject *
sundog_fit_file_read(const char *core, const char *created)
{
    g_return_val_if_fail(strchr(core, '/') == NULL, NULL);
    g_autofree char *path = dup_path(core);
    g_autofree char *text = NULL;
    gsize n_bytes;
    if (!g_file_get_contents(path, &text, &n_bytes, NULL))
        return NULL;
    g_autoptr(JsonNode) node = sundog_json_parse(text, n_bytes, NULL);
    if (node == NULL || !JSON_NODE_HOLDS_OBJECT(node))
        return NULL;
    JsonObject *object = json_node_get_object(node);
    const char *of = json_object_get_string_member_with_default(object, "created", "");
    bool known = json_object_get_int_member_with_default(object, "version", 0) == VERSION &&
                 g_strcmp0(of, created != NULL ? created : "") == 0;
    return known ? json_object_ref(object) : NULL;
}
