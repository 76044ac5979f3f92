/* sundog inspect CORE: manifest, programs and memory plan. */

#include "engine/command/command.h"
#include "engine/command/library-words.h"
#include "engine/command/terminal.h"
#include "engine/format/json.h"
#include <stdio.h>

static char *program_name = NULL;
static gboolean dot = FALSE;
static gboolean weights = FALSE;

static const GOptionEntry options[] = {
    {"program", 0, 0, G_OPTION_ARG_STRING, &program_name,
     "print this program's operations and buffers", "NAME"},
    {"dot", 0, 0, G_OPTION_ARG_NONE, &dot,
     "print the program as a graph for Graphviz (forward, unless --program names another)", NULL},
    {"weights", 0, 0, G_OPTION_ARG_NONE, &weights, "list all weights", NULL},
    {NULL},
};

static JsonArray *
get_programs(const SundogCore *core)
{
    JsonObject *manifest = sundog_package_get_manifest(sundog_core_get_package(core));
    return json_object_get_array_member(manifest, "programs");
}

static void
print_size(const char *what, uint64_t n_bytes)
{
    g_autofree char *size = sundog_terminal_dup_size(n_bytes);
    printf("  %-24s %12" G_GUINT64_FORMAT "  %s\n", what, n_bytes, size);
}

static void
print_identity(const SundogCoreInfo *info, const char *path)
{
    printf("%s\n", info->name);
    printf("  %-24s %s\n", "path", path);
    printf("  %-24s %s, %s\n", "model", info->model_name, info->architecture);
    printf("  %-24s %s\n", "licence", info->licence != NULL ? info->licence : "not stated");
    printf("  %-24s %s, activations in %s\n", "target", info->target, info->activations);
    printf("  %-24s %" G_GUINT64_FORMAT "\n", "parameters", info->n_parameters);
    printf("  %-24s %u tokens\n", "context", info->context_length);
    printf("  %-24s %u tokens\n", "vocabulary", info->n_vocabulary);
    printf("  %-24s %s\n", "model's SHA-256", info->model_sha256);
}

static void
print_members(const SundogPackage *package)
{
    JsonArray *members =
        json_object_get_array_member(sundog_package_get_manifest(package), "members");
    printf("\nMembers %42s\n", "bytes");
    for (unsigned i = 0; i < json_array_get_length(members); i++) {
        JsonObject *member = json_array_get_object_element(members, i);
        printf("  %-34s %12" G_GINT64_FORMAT "\n", json_object_get_string_member(member, "path"),
               json_object_get_int_member(member, "bytes"));
    }
}

static void
print_programs(const SundogCore *core)
{
    JsonArray *programs = get_programs(core);
    printf("\n%-16s %10s %8s %14s\n", "Programs", "operations", "buffers", "arena bytes");
    for (unsigned i = 0; i < json_array_get_length(programs); i++) {
        const char *name = json_array_get_string_element(programs, i);
        const SundogProgram *program = sundog_core_get_program(core, name);
        printf("  %-14s %10u %8u %14" G_GUINT64_FORMAT "\n", name,
               sundog_program_get_n_operations(program), sundog_program_get_n_buffers(program),
               sundog_program_get_arena_bytes(program));
    }
}

static void
print_memory(const SundogCore *core)
{
    const SundogCoreInfo *info = sundog_core_get_info(core);
    const SundogCoreCache *cache = sundog_core_get_cache(core);
    uint64_t n_pages = (info->context_length + cache->page_tokens - 1) / cache->page_tokens;
    printf("\nMemory plan %26s\n", "bytes");
    print_size("weights", info->weight_bytes);
    print_size("arena of a step", info->arena_bytes);
    print_size("a page of the cache", cache->page_bytes);
    if (cache->window_bytes > 0)
        print_size("a page of windows", cache->window_bytes);
    print_size("cache of a full context",
               n_pages * cache->page_bytes +
                   MIN(cache->window_pages, n_pages) * cache->window_bytes);
    if (cache->state_bytes > 0)
        print_size("state of a sequence", cache->state_bytes);
    printf("  a page holds %u tokens of %u layers, %u heads of %u\n", cache->page_tokens,
           cache->n_layers, cache->n_kv_heads, cache->head_dim);
}

static void
print_weights(const SundogCore *core)
{
    printf("\nWeights %52s %10s %10s %14s\n", "rows", "columns", "bytes", "offset");
    for (uint32_t i = 0; i < sundog_core_get_n_weights(core); i++) {
        const SundogCoreWeight *weight = sundog_core_get_weight(core, i);
        printf("  %-46s %11" G_GINT64_FORMAT " %10" G_GINT64_FORMAT " %10" G_GUINT64_FORMAT
               " %14" G_GUINT64_FORMAT "\n",
               weight->name, weight->n_rows, weight->n_columns, weight->n_bytes, weight->offset);
    }
}

static JsonObject *
program_to_json(const char *name, const SundogProgram *program)
{
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "name", name);
    json_object_set_int_member(object, "n_operations", sundog_program_get_n_operations(program));
    json_object_set_int_member(object, "n_buffers", sundog_program_get_n_buffers(program));
    json_object_set_int_member(object, "arena_bytes",
                               (gint64)sundog_program_get_arena_bytes(program));
    return object;
}

static void
print_json(const SundogCore *core)
{
    const SundogCoreInfo *info = sundog_core_get_info(core);
    const SundogCoreCache *cache = sundog_core_get_cache(core);
    JsonArray *names = get_programs(core);
    JsonArray *programs = json_array_new();
    for (unsigned i = 0; i < json_array_get_length(names); i++) {
        const char *name = json_array_get_string_element(names, i);
        json_array_add_object_element(programs,
                                      program_to_json(name, sundog_core_get_program(core, name)));
    }
    JsonObject *memory = json_object_new();
    json_object_set_int_member(memory, "weight_bytes", (gint64)info->weight_bytes);
    json_object_set_int_member(memory, "arena_bytes", (gint64)info->arena_bytes);
    json_object_set_int_member(memory, "page_bytes", (gint64)cache->page_bytes);
    json_object_set_int_member(memory, "window_tokens", cache->window_tokens);
    json_object_set_int_member(memory, "window_bytes", (gint64)cache->window_bytes);
    json_object_set_int_member(memory, "state_bytes", (gint64)cache->state_bytes);
    json_object_set_int_member(memory, "page_tokens", cache->page_tokens);
    JsonObject *object = json_object_new();
    json_object_set_object_member(
        object, "manifest",
        json_object_ref(sundog_package_get_manifest(sundog_core_get_package(core))));
    json_object_set_array_member(object, "programs", programs);
    json_object_set_object_member(object, "memory", memory);
    sundog_terminal_print_json(object);
}

static void
print_overview(const SundogCore *core, const char *path)
{
    print_identity(sundog_core_get_info(core), path);
    print_members(sundog_core_get_package(core));
    print_programs(core);
    print_memory(core);
    if (weights)
        print_weights(core);
    else
        printf("\nMore: --program NAME, --dot, --weights\n");
}

static int
print_program(const SundogCore *core, const char *name)
{
    const SundogProgram *program = sundog_core_get_program(core, name);
    if (program == NULL) {
        g_autoptr(JsonNode) node = json_node_init_array(json_node_alloc(), get_programs(core));
        g_autofree char *known = sundog_json_print(node, false);
        sundog_terminal_error("This core has no program \"%s\"; it has %s.", name, known);
        return SUNDOG_EXIT_FAILED;
    }
    g_autofree char *text = dot ? sundog_program_print_dot(program) : sundog_program_print(program);
    fputs(text, stdout);
    return SUNDOG_EXIT_OK;
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    if (sundog_command_json && (dot || program_name != NULL || weights)) {
        sundog_terminal_error(
            "--json gives the manifest, programs and memory; leave out --program, "
            "--dot and --weights");
        return SUNDOG_EXIT_USAGE;
    }
    g_autoptr(SundogLibrary) library = sundog_library_open(&error);
    g_autoptr(SundogLibraryEntry) entry = NULL;
    g_autoptr(SundogCore) core =
        library != NULL ? sundog_words_open_core(library, words[0], &entry, &error) : NULL;
    if (core == NULL)
        return sundog_terminal_fail(error);
    if (dot || program_name != NULL)
        return print_program(core, program_name != NULL ? program_name : "forward");
    if (sundog_command_json)
        print_json(core);
    else
        print_overview(core, entry->path);
    return SUNDOG_EXIT_OK;
}

const SundogCommand sundog_command_inspect = {
    .name = "inspect",
    .summary = "look into a core: programs, memory, weights",
    .parameters = "CORE",
    .help = "Prints a core's manifest, its programs and its memory plan; with --program, a\n"
            "program's operations, its buffers and where they lie in the arena; with --dot, a\n"
            "graph of it.\n\n"
            "  sundog inspect smollm2-135m-instruct\n"
            "  sundog inspect smollm2-135m-instruct --dot | dot -Tsvg -o forward.svg",
    .options = options,
    .has_json = true,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
