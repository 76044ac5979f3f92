/* Tensors of a safetensors folder under GGUF's names. */

#include "engine/model/hf-tensors.h"

#include "engine/format/error.h"
#include "engine/format/name-table.h"
#include "engine/model/hf-picks.h"
#include "engine/model/hf-weights.h"
#include "engine/model/row-readers.h"

#include <string.h>

/* Before the names of the text model, where a model sees or hears too, or has a head; and what some files
 * leave out. */
static const struct {
    const char *prefix;
    const char *instead;
} text_prefixes[] = {{"model.language_model.", "model."},
                     {"language_model.", ""},
                     {"model.text_model.", "model."},
                     {"bert.", ""},
                     {"roberta.", ""},
                     {"layers.", "model.layers."},
                     {"embed_tokens.", "model.embed_tokens."},
                     {"norm.", "model.norm."},
                     {"embeddings.tok_embeddings.", "model.embeddings.tok_embeddings."},
                     {"embeddings.norm.", "model.embeddings.norm."},
                     {"final_norm.", "model.final_norm."}};

#define NO_NUMBER UINT32_MAX
/* Some way beyond any published model. */
#define MAX_EXPERTS 4096

/* A name with %u and %e in place of the layer's and the expert's number. */
typedef struct {
    char *text; /* owned */
    uint32_t layer;
    uint32_t expert;    /* or that of another matrix of several of one name */
    bool is_projection; /* of those between streams */
} Pattern;

/* Matrices that stand one an expert, until all are there. */
typedef struct {
    const char *name;
    uint64_t n_parts;
    bool is_of_model; /* not of a layer that guesses */
    GArray
        *parts; /* of SundogSourceTensor, by the expert's number; own_name is NULL where missing */
} Group;

typedef struct {
    SundogSource *source;
    const SundogHfTensorOptions *options;
    GHashTable *groups; /* name -> Group */
} Mapping;

static void
group_free(gpointer data)
{
    Group *group = data;
    g_array_unref(group->parts);
    g_free(group);
}

/* --- Names -------------------------------------------------------------------------------------- */

static char *
dup_text_name(const char *own_name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(text_prefixes); i++) {
        if (g_str_has_prefix(own_name, text_prefixes[i].prefix))
            return g_strconcat(text_prefixes[i].instead, own_name + strlen(text_prefixes[i].prefix),
                               NULL);
    }
    return g_strdup(own_name);
}

/* What guesses tokens, where it stands apart, by the names that it has where it is a layer behind the last. */
static char *
dup_layer_name(char *name, uint64_t n_layers)
{
    static const struct {
        const char *prefix;
        const char *instead;
    } parts[] = {{"mtp.layers.0.", ""},
                 {"mtp.fc.", "eh_proj."},
                 {"mtp.pre_fc_norm_embedding.", "enorm."},
                 {"mtp.pre_fc_norm_hidden.", "hnorm."},
                 {"mtp.norm.", "shared_head.norm."}};
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (!g_str_has_prefix(name, parts[i].prefix))
            continue;
        char *found = g_strdup_printf("model.layers.%" G_GUINT64_FORMAT ".%s%s", n_layers,
                                      parts[i].instead, name + strlen(parts[i].prefix));
        g_free(name);
        return found;
    }
    return name;
}

static bool
read_number(const char *text, uint32_t *number)
{
    guint64 value;
    if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT32, &value, NULL))
        return false;
    *number = (uint32_t)value;
    return true;
}

/* Only the first number of all is the layer's, and only one behind "experts" an expert's; projections
 * between streams are numbered like experts. */
static void
pattern_init(Pattern *pattern, const char *own_name, uint64_t n_layers)
{
    g_autofree char *name = dup_layer_name(dup_text_name(own_name), n_layers);
    g_auto(GStrv) parts = g_strsplit(name, ".", -1);
    *pattern = (Pattern){.layer = NO_NUMBER, .expert = NO_NUMBER};
    for (size_t i = 0; parts[i] != NULL; i++) {
        bool is_projection = i > 0 && g_str_has_prefix(parts[i - 1], "altup_");
        bool is_expert = is_projection || (i > 0 && strcmp(parts[i - 1], "experts") == 0);
        uint32_t *number = is_expert ? &pattern->expert : &pattern->layer;
        if (*number == NO_NUMBER && read_number(parts[i], number)) {
            g_free(parts[i]);
            parts[i] = g_strdup(is_expert ? "%e" : "%u");
            pattern->is_projection = pattern->is_projection || is_projection;
        }
    }
    pattern->text = g_strjoinv(".", parts);
}

/* GGUF's name with the layer's number in it; owned by the source. */
static const char *
make_name(Mapping *mapping, const char *name, uint32_t layer)
{
    const char *place = strstr(name, "%u");
    char *made = place == NULL ? g_strdup(name)
                               : g_strdup_printf("%.*s%u%s", (int)(place - name), name, layer,
                                                 place + strlen("%u"));
    return sundog_source_own(mapping->source, made, g_free);
}

/* Layers behind the last, which guess tokens: without them the model is whole, and they may be unlike it, as where
 * experts were cut out of the others alone. */
static bool
is_of_predicting_layer(const Mapping *mapping, const Pattern *pattern)
{
    return pattern->layer != NO_NUMBER && pattern->layer >= mapping->options->n_layers &&
           pattern->layer - mapping->options->n_layers < mapping->options->n_predicting_layers;
}

/* --- Rows of the tables ------------------------------------------------------------------------- */

static bool
add_to_group(Mapping *mapping, const SundogSourceTensor *tensor, const Pattern *pattern,
             GError **error)
{
    uint32_t expert = pattern->expert;
    uint64_t n_parts =
        pattern->is_projection ? mapping->options->n_further_streams : mapping->options->n_experts;
    if (expert >= MIN(n_parts, MAX_EXPERTS)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "tensor %s is number %u, expected one below %" G_GUINT64_FORMAT,
                    tensor->own_name, expert, n_parts);
        return false;
    }
    Group *group = g_hash_table_lookup(mapping->groups, tensor->name);
    if (group == NULL) {
        group = g_new0(Group, 1);
        group->name = tensor->name;
        group->n_parts = n_parts;
        group->is_of_model = !is_of_predicting_layer(mapping, pattern);
        group->parts = g_array_new(FALSE, TRUE, sizeof(SundogSourceTensor));
        g_hash_table_insert(mapping->groups, g_strdup(tensor->name), group);
    }
    if (group->parts->len <= expert)
        g_array_set_size(group->parts, expert + 1);
    g_array_index(group->parts, SundogSourceTensor, expert) = *tensor;
    return true;
}

static bool
add_tensor(Mapping *mapping, const SundogSourceTensor *tensor, GError **error)
{
    if (sundog_source_add_tensor(mapping->source, tensor))
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "tensor %s is a second one for %s", tensor->own_name, tensor->name);
    return false;
}

/* Every row of one table whose pattern is the tensor's. */
static bool
take_rows(Mapping *mapping, const SundogHfTensor *rows, const Pattern *pattern,
          const SundogSourceTensor *found, bool *is_known, GError **error)
{
    for (; rows != NULL && rows->own != NULL; rows++) {
        SundogSourceTensor picked;
        if (strcmp(rows->own, pattern->text) != 0)
            continue;
        *is_known = true;
        if (rows->name == NULL)
            continue;
        if (!sundog_hf_pick(mapping->source, &mapping->options->groups, rows, found, &picked,
                            error))
            return false;
        picked.name = make_name(mapping, rows->name, pattern->layer);
        if (pattern->expert != NO_NUMBER ? !add_to_group(mapping, &picked, pattern, error)
                                         : !add_tensor(mapping, &picked, error))
            return false;
    }
    return true;
}

static bool
take_pattern(Mapping *mapping, const SundogSourceTensor *found, const Pattern *pattern,
             GError **error)
{
    const char *text = pattern->text;
    bool is_known = false;
    if (mapping->options->is_tied && strcmp(text, "lm_head.weight") == 0)
        return true;
    if (!take_rows(mapping, mapping->options->family->tensors, pattern, found, &is_known, error))
        return false;
    if (!is_known &&
        !take_rows(mapping, sundog_hf_common_tensors, pattern, found, &is_known, error))
        return false;
    return is_known || is_of_predicting_layer(mapping, pattern) || g_str_has_prefix(text, "mtp.") ||
           add_tensor(mapping, found, error);
}

static bool
take_weight(Mapping *mapping, const SundogSourceTensor *found, GError **error)
{
    Pattern pattern;
    pattern_init(&pattern, found->own_name, mapping->options->n_layers);
    g_autofree char *text = pattern.text;
    bool guesses = is_of_predicting_layer(mapping, &pattern) || g_str_has_prefix(text, "mtp.");
    return take_pattern(mapping, found, &pattern, guesses ? NULL : error) || guesses;
}

static bool
join_group(Mapping *mapping, const Group *group, GError **error)
{
    const SundogSourceTensor *parts = (const SundogSourceTensor *)group->parts->data;
    for (guint i = 0; i < group->n_parts; i++) {
        if (i >= group->parts->len || parts[i].own_name == NULL) {
            g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                        "%s: number %u of %" G_GUINT64_FORMAT " matrices is missing", group->name,
                        i, group->n_parts);
            return false;
        }
        if (parts[i].type == parts[0].type &&
            memcmp(parts[i].shape, parts[0].shape, sizeof parts[i].shape) == 0)
            continue;
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "tensor %s differs in type or shape from %s", parts[i].own_name,
                    parts[0].own_name);
        return false;
    }
    SundogSourceTensor joined;
    sundog_rows_join(mapping->source, parts, group->n_parts, &joined);
    return add_tensor(mapping, &joined, error);
}

static bool
join_groups(Mapping *mapping, GError **error)
{
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, mapping->groups);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Group *group = value;
        if (!join_group(mapping, group, group->is_of_model ? error : NULL) && group->is_of_model)
            return false;
    }
    return true;
}

bool
sundog_hf_tensors_read(SundogSource *source, const SundogHfTensorOptions *options, GError **error)
{
    g_autoptr(GArray) weights = sundog_hf_weights_list(
        source, options->tensors, options->quantization, options->n_predicting_layers > 0, error);
    g_autoptr(GHashTable) groups = sundog_name_table_new(group_free);
    Mapping mapping = {.source = source, .options = options, .groups = groups};
    for (guint i = 0; weights != NULL && i < weights->len; i++)
        if (!take_weight(&mapping, &g_array_index(weights, SundogSourceTensor, i), error))
            return false;
    return weights != NULL && join_groups(&mapping, error);
}
