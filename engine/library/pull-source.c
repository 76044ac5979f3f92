/* From a name or an URL to a list of files. */

#include "engine/library/pull-source.h"

#include "engine/format/error.h"
#include "engine/format/gguf.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/format/safetensors.h"
#include "engine/library/model-folder.h"
#include <libsoup/soup.h>
#include <string.h>

#define CONFIG "config.json"
#define INDEX "model.safetensors.index.json"
#define SINGLE "model.safetensors"
#define MODULES "modules.json"
#define TOKENIZER "tokenizer.json"
#define PIECES "tokenizer.model"
/* Some way beyond any published model. */
#define MAX_MODULES 16
/* Where hubs keep the files of a repository's newest state. */
#define NEWEST "/resolve/main/"

/* What a repository of safetensors holds beside them; the first one tells at once whether it is one. */
static const struct {
    const char *name;
    bool is_optional;
} texts[] = {{CONFIG, false},
             {TOKENIZER, true},
             {"tokenizer_config.json", true},
             {"generation_config.json", true},
             {"chat_template.jinja", true},
             {"chat_template.json", true},
             {MODULES, true},
             {"config_sentence_transformers.json", true},
             {INDEX, true}};

#define fail(error, code, ...) sundog_error_set(error, SUNDOG_LIBRARY_ERROR, code, __VA_ARGS__)

static void
file_clear(void *data)
{
    SundogPullFile *file = data;
    g_free(file->name);
    g_free(file->url);
    g_free(file->sha256);
}

void
sundog_pull_source_clear(SundogPullSource *source)
{
    g_clear_pointer(&source->files, g_array_unref);
    g_clear_pointer(&source->entry, json_object_unref);
    g_clear_pointer(&source->name, g_free);
    g_clear_pointer(&source->base, g_free);
}

const char *
sundog_pull_source_get_main_file(const SundogPullSource *source)
{
    const char *first = g_array_index(source->files, SundogPullFile, 0).name;
    return strcmp(first, CONFIG) == 0 ? SUNDOG_MODEL_IS_FOLDER : first;
}

static void
add_file(SundogPullSource *source, const char *name, char *url, bool is_optional)
{
    SundogPullFile file = {.name = g_strdup(name), .url = url, .is_optional = is_optional};
    g_array_append_val(source->files, file);
}

static void
use_entry(SundogPullSource *source, const SundogCatalogueEntry *entry)
{
    source->name = g_strdup(entry->name);
    source->entry = json_object_ref(entry->json);
    for (uint32_t i = 0; i < entry->n_files; i++) {
        const SundogCatalogueFile *listed = &entry->files[i];
        SundogPullFile file = {g_strdup(listed->name), g_strdup(listed->url),
                               g_strdup(listed->sha256), listed->n_bytes, false};
        g_array_append_val(source->files, file);
    }
}

/* "Foo-Q8_0.gguf" to "foo-q8_0", and of several parts without their number. */
static char *
dup_name_of(const char *file_name)
{
    unsigned part, n_parts;
    g_autofree char *lower = g_ascii_strdown(file_name, -1);
    if (sundog_gguf_split_parse(lower, &part, &n_parts))
        lower[strlen(lower) - strlen("-00001-of-00002.gguf")] = 0;
    else if (g_str_has_suffix(lower, ".gguf"))
        lower[strlen(lower) - strlen(".gguf")] = 0;
    return g_strndup(lower, 96);
}

/* All parts of a model by the URL of one of them, the first part first. */
static bool
use_parts(SundogPullSource *source, const char *text, const char *file_name, unsigned n_parts,
          GError **error)
{
    const char *place = g_strrstr(text, file_name);
    if (place == NULL)
        return fail(
            error, SUNDOG_LIBRARY_ERROR_INVALID,
            "The URL spells “%s” in another way, so that those of the other parts cannot be "
            "made from it",
            file_name);
    for (unsigned i = 1; i <= n_parts; i++) {
        g_autofree char *part = sundog_gguf_split_dup_name(file_name, i);
        add_file(
            source, part,
            g_strdup_printf("%.*s%s%s", (int)(place - text), text, part, place + strlen(file_name)),
            false);
    }
    return true;
}

static bool
use_gguf(SundogPullSource *source, const char *text, const char *file_name, GError **error)
{
    unsigned part, n_parts;
    if (strpbrk(file_name, ":@") || !sundog_library_name_is_valid(file_name))
        return fail(error, SUNDOG_LIBRARY_ERROR_INVALID,
                    "The URL's last part, “%s”, cannot be a file's name here", file_name);
    source->name = dup_name_of(file_name);
    if (sundog_gguf_split_parse(file_name, &part, &n_parts))
        return use_parts(source, text, file_name, n_parts, error);
    add_file(source, file_name, g_strdup(text), false);
    return true;
}

/* The URL that a repository's files begin with: of a page with an owner and a name, that of its newest
 * files; of a folder, whose URL ends in '/', its own. NULL for others. */
static char *
dup_base(GUri *uri, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(g_uri_get_path(uri), "/", -1);
    guint n = g_strv_length(parts);
    bool is_bare = g_uri_get_query(uri) == NULL && g_uri_get_fragment(uri) == NULL;
    if (!is_bare || n < 3)
        return NULL;
    bool has_end = parts[n - 1][0] == '\0';
    guint n_named = n - 1 - has_end;
    g_autofree char *trimmed = g_strndup(text, strlen(text) - has_end);
    if (n_named == 2)
        return g_strconcat(trimmed, NEWEST, NULL);
    return has_end ? g_strconcat(trimmed, "/", NULL) : NULL;
}

/* The repository's own name: what stands before the state of its files. */
static char *
dup_repository_name(const char *base)
{
    const char *end = strstr(base, "/resolve/");
    g_autofree char *page = g_strndup(base, end != NULL ? (size_t)(end - base) : strlen(base) - 1);
    g_autofree char *last = g_path_get_basename(page);
    g_autofree char *decoded = g_uri_unescape_string(last, "/");
    g_autofree char *lower = g_ascii_strdown(decoded != NULL ? decoded : last, -1);
    return g_strndup(lower, 96);
}

static void
use_repository(SundogPullSource *source, char *base)
{
    source->name = dup_repository_name(base);
    source->base = base;
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        add_file(source, texts[i].name, g_strconcat(base, texts[i].name, NULL),
                 texts[i].is_optional);
}

static bool
use_url(SundogPullSource *source, const char *text, GError **error)
{
    g_autoptr(GUri) uri = g_uri_parse(text, SOUP_HTTP_URI_FLAGS, NULL);
    const char *scheme = uri ? g_uri_get_scheme(uri) : "";
    if ((strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0) || !g_uri_get_host(uri) ||
        !*g_uri_get_host(uri))
        return fail(error, SUNDOG_LIBRARY_ERROR_INVALID,
                    "“%s” is no model of the catalogue and no http or https URL", text);
    if (g_uri_get_userinfo(uri))
        return fail(error, SUNDOG_LIBRARY_ERROR_INVALID,
                    "The URL holds a user name: set library.token instead, which is not stored "
                    "with the model");
    g_autofree char *decoded = g_uri_unescape_string(g_uri_get_path(uri), "/");
    g_autofree char *file_name = g_path_get_basename(decoded ? decoded : "");
    if (g_str_has_suffix(file_name, ".gguf"))
        return use_gguf(source, text, file_name, error);
    char *base = dup_base(uri, text);
    if (base == NULL)
        return fail(error, SUNDOG_LIBRARY_ERROR_INVALID,
                    "The URL's last part, “%s”, is not the name of a .gguf file, and the URL is no "
                    "repository's (https://HOST/OWNER/NAME) and no folder's, which ends in “/”",
                    file_name);
    use_repository(source, base);
    return true;
}

bool
sundog_pull_source_init(SundogPullSource *source, const char *text, const char *name,
                        const SundogCatalogue *catalogue, GError **error)
{
    const SundogCatalogueEntry *entry = catalogue ? sundog_catalogue_find(catalogue, text) : NULL;
    *source = (SundogPullSource){.files = g_array_new(false, true, sizeof(SundogPullFile))};
    g_array_set_clear_func(source->files, file_clear);
    if (entry && entry->needs)
        return fail(
            error, SUNDOG_LIBRARY_ERROR_REFUSED,
            "%s could be fetched but not used: it needs %s. A newer version may have it; by "
            "its URL it is fetched all the same",
            entry->name, entry->needs);
    if (entry)
        use_entry(source, entry);
    else if (!use_url(source, text, error))
        return false;
    if (name) {
        g_free(source->name);
        source->name = g_strdup(name);
    }
    return (!strpbrk(source->name, ":@") && sundog_library_name_is_valid(source->name)) ||
           fail(error, SUNDOG_LIBRARY_ERROR_INVALID, "“%s” cannot be a model's name", source->name);
}

static bool
has_file(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* A module's settings, and of a dense layer its weights. */
static void
add_module(SundogPullSource *source, const char *base, const char *path, const char *type)
{
    static const char *const names[] = {CONFIG, SINGLE};
    g_autofree char *escaped = g_uri_escape_string(path, NULL, false);
    for (size_t i = 0; i < (g_str_has_suffix(type, "Dense") ? 2 : 1); i++) {
        g_autofree char *name = g_strconcat(path, "/", names[i], NULL);
        add_file(source, name, g_strconcat(base, escaped, "/", names[i], NULL), false);
    }
}

/* What lies in folders of its own, as sentence-transformers keeps all but the model itself. Parts that do
 * nothing need not be there. */
static bool
add_modules(SundogPullSource *source, const char *base, const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, MODULES, NULL);
    g_autofree char *text = NULL;
    size_t n_bytes;
    if (!has_file(folder, MODULES))
        return true;
    if (!g_file_get_contents(path, &text, &n_bytes, error))
        return false;
    g_autoptr(JsonNode) root = sundog_json_parse(text, n_bytes, error);
    if (root == NULL || !JSON_NODE_HOLDS_ARRAY(root))
        return root != NULL && fail(error, SUNDOG_LIBRARY_ERROR_INVALID, MODULES " holds no list");
    JsonArray *modules = json_node_get_array(root);
    for (guint i = 0; i < MIN(json_array_get_length(modules), MAX_MODULES); i++) {
        JsonObject *module = sundog_json_get_element(modules, i);
        const char *place = module ? sundog_json_get_string(module, "path", "") : "";
        const char *type = module ? sundog_json_get_string(module, "type", "") : "";
        if (*place == '\0' || g_str_has_suffix(type, "Normalize"))
            continue;
        if (strpbrk(place, ":@") || !sundog_library_name_is_valid(place))
            return fail(error, SUNDOG_LIBRARY_ERROR_INVALID,
                        MODULES ": “%s” cannot be a folder's name here", place);
        add_module(source, base, place, type);
    }
    return true;
}

static bool
add_shards(SundogPullSource *source, const char *base, const char *folder, GError **error)
{
    if (!has_file(folder, INDEX)) {
        add_file(source, SINGLE, g_strconcat(base, SINGLE, NULL), false);
        return true;
    }
    g_auto(GStrv) files = sundog_safetensors_dup_index_files(folder, error);
    for (size_t i = 0; files != NULL && files[i] != NULL; i++) {
        if (!sundog_library_name_is_valid(files[i]))
            return fail(error, SUNDOG_LIBRARY_ERROR_INVALID,
                        "%s: “%s” cannot be a file's name here", INDEX, files[i]);
        g_autofree char *escaped = g_uri_escape_string(files[i], NULL, false);
        add_file(source, files[i], g_strconcat(base, escaped, NULL), false);
    }
    return files != NULL;
}

bool
sundog_pull_source_add_rest(SundogPullSource *source, const char *folder, GError **error)
{
    g_autofree char *base = g_steal_pointer(&source->base);
    if (!has_file(folder, TOKENIZER))
        add_file(source, PIECES, g_strconcat(base, PIECES, NULL), false);
    return add_modules(source, base, folder, error) && add_shards(source, base, folder, error);
}
