/* What a fit says of one core on this machine. */

#include "engine/library/fit-file.h"

#include "engine/format/json-members.h"
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

static JsonArray *
rungs_to_json(const SundogFitFileGpu *gpu)
{
    JsonArray *rungs = json_array_new();
    for (uint32_t i = 0; i < gpu->n_rungs; i++) {
        JsonObject *rung = json_object_new();
        json_object_set_int_member(rung, "sequences", gpu->rungs[i].n_sequences);
        json_object_set_double_member(rung, "us", gpu->rungs[i].us);
        json_object_set_boolean_member(rung, "kept", gpu->rungs[i].is_kept);
        json_array_add_object_element(rungs, rung);
    }
    return rungs;
}

static JsonObject *
gpu_to_json(const SundogFitFileGpu *gpu)
{
    JsonObject *object = json_object_new();
    json_object_set_boolean_member(object, "deterministic", gpu->is_alike);
    json_object_set_int_member(object, "context_tokens", gpu->n_context);
    json_object_set_array_member(object, "rungs", rungs_to_json(gpu));
    json_object_set_int_member(object, "prompt_tokens", gpu->prompt_tokens);
    json_object_set_double_member(object, "prompt_us", gpu->prompt_us);
    if (gpu->is_alike) {
        json_object_set_double_member(object, "usual_decode_us", gpu->usual_decode_us);
        json_object_set_double_member(object, "usual_prompt_us", gpu->usual_prompt_us);
    }
    return object;
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
    if (fit->decode_tokens_per_second > 0) {
        json_object_set_double_member(object, "prefill_tokens_per_second",
                                      fit->prefill_tokens_per_second);
        json_object_set_double_member(object, "decode_tokens_per_second",
                                      fit->decode_tokens_per_second);
    }
    if (fit->gpu != NULL)
        json_object_set_object_member(object, "gpu", gpu_to_json(fit->gpu));
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

/* "1,2,4", or NULL where there is none that is one. Sizes must rise. */
static char *
dup_ladder(JsonObject *gpu)
{
    g_autoptr(GString) ladder = g_string_new(NULL);
    JsonArray *rungs = sundog_json_get_array(gpu, "rungs");
    double last = 0;
    for (guint i = 0; rungs != NULL && i < json_array_get_length(rungs); i++) {
        JsonObject *rung = sundog_json_get_element(rungs, i);
        double n = sundog_json_get_number(rung, "sequences", 0);
        if (!(n > last) || n > INT32_MAX)
            return NULL;
        if (sundog_json_get_bool(rung, "kept", false))
            g_string_append_printf(ladder, "%s%d", ladder->len > 0 ? "," : "", (int)n);
        last = n;
    }
    return ladder->len > 0 ? g_string_free(g_steal_pointer(&ladder), FALSE) : NULL;
}

char **
sundog_fit_file_dup_arguments(const char *core, const char *created)
{
    GStrvBuilder *words = g_strv_builder_new();
    g_autoptr(JsonObject) fit = sundog_fit_file_read(core, created);
    JsonObject *gpu = sundog_json_get_object(fit, "gpu");
    g_autofree char *ladder = dup_ladder(gpu);
    if (ladder != NULL)
        g_strv_builder_add_many(words, "--ladder", ladder, NULL);
    if (sundog_json_get_bool(gpu, "deterministic", false))
        g_strv_builder_add(words, SUNDOG_FIT_FILE_ALIKE);
    char **all = g_strv_builder_end(words);
    g_strv_builder_unref(words);
    return all;
}
