/* Opening a core: the manifest, its programs, and what each says of the other. */

#include "engine/core/core.h"

#include "engine/core/manifest.h"
#include "engine/core/step-check.h"
#include "engine/core/step.h"
#include "engine/format/error.h"

#include <string.h>

struct SundogCore {
    SundogPackage *package;
    SundogCoreManifest manifest;
    GHashTable *programs; /* name, borrowed from the manifest, to SundogProgram, owned */
    GHashTable *launches; /* the same for SundogLaunchList */
    GBytes *weights;
};

bool
sundog_core_is_for_host(const SundogCore *core)
{
    return strcmp(core->manifest.info.target, SUNDOG_CORE_TARGET_HOST) == 0;
}

static bool
check_info(const SundogCoreInfo *info, GError **error)
{
    bool is_host = strcmp(info->target, SUNDOG_CORE_TARGET_HOST) == 0;
    const char *exact = is_host ? SUNDOG_CORE_ACTIVATIONS_F32 : SUNDOG_CORE_ACTIVATIONS_BF16;
    bool known = strcmp(info->activations, SUNDOG_CORE_ACTIVATIONS_INT8) == 0 ||
                 strcmp(info->activations, exact) == 0;
    if (!is_host && !g_str_has_prefix(info->target, "sm_"))
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "the core is for the target \"%s\", this engine runs \"%s\" and \"sm_…\"",
                    info->target, SUNDOG_CORE_TARGET_HOST);
    else if (!known)
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "the core has activations in \"%s\", known for the target \"%s\": %s and %s",
                    info->activations, info->target, SUNDOG_CORE_ACTIVATIONS_INT8, exact);
    else
        return true;
    return false;
}

static bool
map_weights(SundogCore *core, GError **error)
{
    core->weights = sundog_package_dup_member(core->package, SUNDOG_CORE_WEIGHTS, error);
    if (core->weights == NULL)
        return false;
    if (g_bytes_get_size(core->weights) == core->manifest.info.weight_bytes)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "%s has %zu bytes, expected %" G_GUINT64_FORMAT, SUNDOG_CORE_WEIGHTS,
                g_bytes_get_size(core->weights), core->manifest.info.weight_bytes);
    return false;
}

static bool
check_texts(const SundogCore *core, GError **error)
{
    g_autoptr(GBytes) vocabulary =
        sundog_package_dup_member(core->package, SUNDOG_CORE_VOCABULARY, error);
    if (vocabulary == NULL || !core->manifest.has_template)
        return vocabulary != NULL;
    g_autoptr(GBytes) template =
        sundog_package_dup_member(core->package, SUNDOG_CORE_TEMPLATE, error);
    return template != NULL;
}

static SundogProgram *
read_program(const SundogCore *core, const char *name, GError **error)
{
    SundogReader reader;
    g_autofree char *path = g_strconcat("programs/", name, NULL);
    g_autoptr(GBytes) bytes = sundog_package_dup_member(core->package, path, error);
    if (bytes == NULL)
        return NULL;
    sundog_reader_init(&reader, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), path);
    g_autoptr(SundogProgram) program = sundog_program_read(&reader);
    if (!sundog_reader_finish(&reader, error))
        return NULL;
    return g_steal_pointer(&program);
}

/* A weight of a program is one of the core's, in the same layout and shape. */
static bool
match_weight(const SundogCore *core, const SundogProgram *program, const SundogBuffer *buffer,
             GError **error)
{
    const SundogCoreWeight *weight =
        sundog_core_manifest_find_weight(&core->manifest, buffer->name);
    const SundogExpressionPool *pool = sundog_program_get_expressions(program);
    int64_t n_rows;
    int64_t n_columns;
    sundog_expression_get_constant(pool, buffer->shape[0], &n_rows);
    sundog_expression_get_constant(pool, buffer->shape[1], &n_columns);
    if (weight != NULL && weight->layout == buffer->layout && weight->n_rows == n_rows &&
        weight->n_columns == n_columns)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "program \"%s\" takes the weight \"%s\", %s [%" G_GINT64_FORMAT
                ", %" G_GINT64_FORMAT "], which the core %s",
                sundog_program_get_name(program), buffer->name, sundog_layout_name(buffer->layout),
                n_rows, n_columns, weight == NULL ? "does not hold" : "holds in another form");
    return false;
}

/* The pages and slots of a program are those of the cache schemes. */
static bool
match_state(const SundogCore *core, const SundogProgram *program, GError **error)
{
    static const uint64_t none[SUNDOG_N_STATE_KINDS];
    static const char *const names[SUNDOG_N_STATE_KINDS] = {
        [SUNDOG_STATE_PAGES] = "pages",
        [SUNDOG_STATE_WINDOWS] = "pages of windows",
        [SUNDOG_STATE_SLOTS] = "states",
    };
    const SundogCoreCache *cache = &core->manifest.cache;
    const uint64_t said[SUNDOG_N_STATE_KINDS] = {
        [SUNDOG_STATE_PAGES] = cache->page_bytes,
        [SUNDOG_STATE_WINDOWS] = cache->window_bytes,
        [SUNDOG_STATE_SLOTS] = cache->state_bytes,
    };
    uint64_t found[SUNDOG_N_STATE_KINDS], behind[SUNDOG_N_STATE_KINDS] = {0};
    const SundogProgram *draft = sundog_core_get_program(core, SUNDOG_PROGRAM_DRAFT);
    sundog_program_measure_state(program, found);
    if (memcmp(found, none, sizeof found) == 0 || program == draft)
        return true;
    /* What guesses has its own in the same pages. */
    if (draft != NULL)
        sundog_program_measure_state(draft, behind);
    for (int kind = 0; kind < SUNDOG_N_STATE_KINDS; kind++)
        found[kind] += behind[kind];
    for (int kind = 0; kind < SUNDOG_N_STATE_KINDS; kind++) {
        if (found[kind] == said[kind])
            continue;
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "program \"%s\" has %s of %" G_GUINT64_FORMAT
                    " bytes, the cache schemes of %" G_GUINT64_FORMAT,
                    sundog_program_get_name(program), names[kind], found[kind], said[kind]);
        return false;
    }
    return true;
}

/* Contracts let many results be bf16; of the kernels only those for CUDA write all of them. */
static bool
check_target(const SundogCore *core, const SundogProgram *program, const SundogBuffer *buffer,
             GError **error)
{
    if (!sundog_core_is_for_host(core) || buffer->role == SUNDOG_BUFFER_STATE ||
        buffer->dtype != SUNDOG_DTYPE_BF16)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "program \"%s\" has \"%s\" in bf16, which the target \"%s\" has in its cache alone",
                sundog_program_get_name(program), buffer->name, core->manifest.info.target);
    return false;
}

static bool
match_buffers(const SundogCore *core, const SundogProgram *program, GError **error)
{
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        if (!check_target(core, program, buffer, error))
            return false;
        if (buffer->role == SUNDOG_BUFFER_WEIGHT && !match_weight(core, program, buffer, error))
            return false;
    }
    return true;
}

static bool
match_plan(const SundogCore *core, const SundogProgram *program, GError **error)
{
    const SundogShape *bounds = sundog_program_get_bounds(program);
    for (int i = 0; i < SUNDOG_N_VARIABLES; i++) {
        if (bounds->values[i] == core->manifest.bounds.values[i])
            continue;
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "program \"%s\" bounds %s by %" G_GINT64_FORMAT
                    ", the manifest by %" G_GINT64_FORMAT,
                    sundog_program_get_name(program), sundog_variable_name((SundogVariable)i),
                    bounds->values[i], core->manifest.bounds.values[i]);
        return false;
    }
    uint64_t n_bytes = sundog_program_get_arena_bytes(program);
    bool fits = n_bytes <= core->manifest.info.arena_bytes ||
                strcmp(sundog_program_get_name(program), SUNDOG_PROGRAM_REFERENCE) == 0;
    if (n_bytes > 0 && fits)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "program \"%s\" has an arena of %" G_GUINT64_FORMAT
                " bytes, expected 1 to the plan's %" G_GUINT64_FORMAT,
                sundog_program_get_name(program), n_bytes, core->manifest.info.arena_bytes);
    return false;
}

static bool
check_step(const SundogCore *core, const SundogProgram *program, const char *name, GError **error)
{
    uint32_t n_vocabulary = core->manifest.info.n_vocabulary;
    const SundogProgram *forward = sundog_core_get_program(core, SUNDOG_PROGRAM_FORWARD);
    if (strcmp(name, SUNDOG_PROGRAM_DRAFT) == 0 && forward != NULL)
        return sundog_step_check_draft(program, forward, n_vocabulary, error);
    if (core->manifest.info.purpose != SUNDOG_CORE_GENERATES &&
        strcmp(name, SUNDOG_PROGRAM_SAMPLE) != 0)
        return sundog_step_check_result(program, core->manifest.info.n_outputs, error);
    return strcmp(name, SUNDOG_PROGRAM_SAMPLE) == 0
               ? sundog_step_check_sample(program, n_vocabulary, error)
               : sundog_step_check_forward(program, n_vocabulary, error);
}

static bool
check_name(const SundogProgram *program, const char *name, GError **error)
{
    if (strcmp(sundog_program_get_name(program), name) == 0)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "the member of program \"%s\" holds one named \"%s\"", name,
                sundog_program_get_name(program));
    return false;
}

static SundogLaunchList *
read_launches(const SundogCore *core, const char *name, GError **error)
{
    SundogReader reader;
    g_autofree char *path = g_strconcat("launches/", name, NULL);
    g_autoptr(GBytes) bytes = sundog_package_dup_member(core->package, path, error);
    if (bytes == NULL)
        return NULL;
    sundog_reader_init(&reader, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), path);
    g_autoptr(SundogLaunchList) list = sundog_launch_list_read(&reader);
    if (!sundog_reader_finish(&reader, error))
        return NULL;
    return g_steal_pointer(&list);
}

/* The reference runs on the host, whatever the target. */
static bool
load_launches(SundogCore *core, const SundogProgram *program, const char *name, GError **error)
{
    if (sundog_core_is_for_host(core) || strcmp(name, SUNDOG_PROGRAM_REFERENCE) == 0)
        return true;
    SundogLaunchList *list = read_launches(core, name, error);
    if (list == NULL)
        return false;
    g_hash_table_insert(core->launches, (gpointer)name, list);
    return sundog_launch_list_check(list, program, error);
}

static bool
load_program(SundogCore *core, const char *name, GError **error)
{
    SundogProgram *program = read_program(core, name, error);
    if (program == NULL)
        return false;
    g_hash_table_insert(core->programs, (gpointer)name, program);
    return check_name(program, name, error) && sundog_program_check(program, error) &&
           match_buffers(core, program, error) && match_plan(core, program, error) &&
           check_step(core, program, name, error) && load_launches(core, program, name, error);
}

static bool
load_programs(SundogCore *core, GError **error)
{
    static const char *const needed[] = {SUNDOG_PROGRAM_FORWARD, SUNDOG_PROGRAM_SAMPLE};
    for (char **name = core->manifest.programs; *name != NULL; name++)
        if (!load_program(core, *name, error))
            return false;
    for (char **name = core->manifest.programs; *name != NULL; name++)
        if (!match_state(core, sundog_core_get_program(core, *name), error))
            return false;
    size_t n_needed =
        core->manifest.info.purpose == SUNDOG_CORE_GENERATES ? G_N_ELEMENTS(needed) : 1;
    for (size_t i = 0; i < n_needed; i++) {
        if (g_hash_table_contains(core->programs, needed[i]))
            continue;
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "the core has no program \"%s\"", needed[i]);
        return false;
    }
    return true;
}

static bool
load(SundogCore *core, GError **error)
{
    return sundog_core_manifest_parse(&core->manifest, sundog_package_get_manifest(core->package),
                                      error) &&
           check_info(&core->manifest.info, error) && map_weights(core, error) &&
           check_texts(core, error) && load_programs(core, error);
}

SundogCore *
sundog_core_open(const char *folder, const SundogKeyring *keyring, GError **error)
{
    SundogPackage *package = sundog_package_open(folder, keyring, error);
    if (package == NULL)
        return NULL;
    g_autoptr(SundogCore) core = g_new0(SundogCore, 1);
    core->package = package;
    core->programs =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)sundog_program_free);
    core->launches = g_hash_table_new_full(g_str_hash, g_str_equal, NULL,
                                           (GDestroyNotify)sundog_launch_list_free);
    if (load(core, error))
        return g_steal_pointer(&core);
    g_prefix_error(error, "%s: ", folder);
    return NULL;
}

void
sundog_core_free(SundogCore *core)
{
    if (core == NULL)
        return;
    g_clear_pointer(&core->weights, g_bytes_unref);
    g_hash_table_unref(core->programs);
    g_hash_table_unref(core->launches);
    sundog_core_manifest_clear(&core->manifest);
    sundog_package_free(core->package);
    g_free(core);
}

static const char *const purposes[] = {[SUNDOG_CORE_GENERATES] = "generate",
                                       [SUNDOG_CORE_EMBEDS] = "embed",
                                       [SUNDOG_CORE_RERANKS] = "rerank"};

const char *
sundog_core_purpose_text(SundogCorePurpose purpose)
{
    return purposes[purpose];
}

bool
sundog_core_purpose_find(const char *text, SundogCorePurpose *purpose)
{
    *purpose = SUNDOG_CORE_GENERATES;
    for (size_t i = 0; i < G_N_ELEMENTS(purposes); i++) {
        if (g_strcmp0(text, purposes[i]) != 0)
            continue;
        *purpose = (SundogCorePurpose)i;
        return true;
    }
    return text == NULL;
}

const SundogCoreInfo *
sundog_core_get_info(const SundogCore *core)
{
    return &core->manifest.info;
}

const SundogPackage *
sundog_core_get_package(const SundogCore *core)
{
    return core->package;
}

const SundogCoreCache *
sundog_core_get_cache(const SundogCore *core)
{
    return &core->manifest.cache;
}

const SundogProgram *
sundog_core_get_program(const SundogCore *core, const char *name)
{
    return g_hash_table_lookup(core->programs, name);
}

uint64_t
sundog_core_measure_arena(const SundogCore *core, unsigned n_threads)
{
    static const char *const used[] = {SUNDOG_PROGRAM_FORWARD, SUNDOG_PROGRAM_SAMPLE,
                                       SUNDOG_PROGRAM_DRAFT};
    SundogShape shape = core->manifest.bounds;
    int64_t n_units = n_threads != 0 ? n_threads : g_get_num_processors();
    uint64_t n_bytes = 0;
    shape.values[SUNDOG_VARIABLE_UNITS] = MIN(n_units, shape.values[SUNDOG_VARIABLE_UNITS]);
    for (size_t i = 0; i < G_N_ELEMENTS(used); i++) {
        const SundogProgram *program = sundog_core_get_program(core, used[i]);
        if (program != NULL)
            n_bytes = MAX(n_bytes, sundog_program_measure_arena(program, &shape));
    }
    return n_bytes;
}

const SundogLaunchList *
sundog_core_get_launch_list(const SundogCore *core, const char *name)
{
    return g_hash_table_lookup(core->launches, name);
}

uint32_t
sundog_core_get_n_weights(const SundogCore *core)
{
    return core->manifest.weights->len;
}

const SundogCoreWeight *
sundog_core_get_weight(const SundogCore *core, uint32_t index)
{
    g_assert(index < core->manifest.weights->len);
    return &g_array_index(core->manifest.weights, SundogCoreWeight, index);
}

const SundogCoreWeight *
sundog_core_find_weight(const SundogCore *core, const char *name)
{
    return sundog_core_manifest_find_weight(&core->manifest, name);
}

GBytes *
sundog_core_get_weights(const SundogCore *core)
{
    return core->weights;
}
