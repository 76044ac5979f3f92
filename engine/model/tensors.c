/* A model's tensors: the table of roles says for each what shape it must have. */

#include "engine/model/tensors.h"

#include "engine/format/error.h"
#include "engine/model/floats.h"
#include "engine/model/fused-tensors.h"
#include "engine/model/row-readers.h"

#include <stdio.h>
#include <string.h>

/* What a row or column count is made of. */
typedef enum {
    ONE,
    HIDDEN,
    HEADS,
    HEAD,
    Q_NORM, /* a head, or all together */
    K_NORM,
    QUERY,
    ATTENDED, /* what the output projection takes */
    KEY,
    MLP,
    VOCABULARY,
    HALF_ROPE,
    TOKEN_AND_HIDDEN,
    LAYER_INPUT,
    ALL_LAYER_INPUTS,
    STREAMS,
    STREAM_PAIRS,
    LAUREL,
    Q_RANK,
    KV_RANK,
    LATENT,     /* what is cached of a token */
    PLAIN_KEY,  /* of a head, without its rotary part */
    VALUE,      /* of a head */
    CONV_PARTS, /* both factors and what is convolved */
    CONV_WIDTH,
    STATE_PARTS, /* gate, what is convolved, and a step a head */
    DELTA_QKV,
    DELTA_VALUES, /* of all heads */
    DELTA_HEADS,
    DELTA_GATES,  /* two a head */
    STATE_NORMED, /* one value head, or the share of one of a state space's groups */
    EXPERTS,
    EXPERT,
    SHARED,
    POSITIONS,
    TOKEN_TYPES,
    DENSE,
    OUTPUTS,
} Extent;

typedef struct {
    const char *name; /* GGUF's, with %u for the layer */
    Extent rows;      /* ONE: a vector, which must hold plain floats */
    Extent columns;
    enum {
        ONCE,
        AN_EXPERT,
        A_HEAD,
        A_CHANNEL,
        A_STATE_CHANNEL,
        A_STATE_NORM,
        A_FURTHER_STREAM
    } stack;        /* one after the other for all */
    bool recurrent; /* only of layers with recurrent state */
} Role;

/* clang-format off */
static const Role roles[] = {
    [SUNDOG_TENSOR_TOKEN_EMBEDDING]  = {.rows = VOCABULARY, .columns = HIDDEN},
    [SUNDOG_TENSOR_OUTPUT_NORM]      = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_OUTPUT_NORM_BIAS] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_EMBEDDING_NORM]   = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_EMBEDDING_NORM_BIAS] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_POSITION_EMBEDDING] = {.rows = POSITIONS, .columns = HIDDEN},
    [SUNDOG_TENSOR_TOKEN_TYPES]      = {.rows = TOKEN_TYPES, .columns = HIDDEN},
    [SUNDOG_TENSOR_POOLED_DENSE_UP]  = {.rows = DENSE, .columns = HIDDEN},
    [SUNDOG_TENSOR_POOLED_DENSE_DOWN] = {.rows = OUTPUTS, .columns = DENSE},
    [SUNDOG_TENSOR_CLASS_DENSE]      = {.rows = HIDDEN, .columns = HIDDEN},
    [SUNDOG_TENSOR_CLASS_DENSE_BIAS] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_CLASS_NORM]       = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_CLASS_OUTPUT]     = {.rows = OUTPUTS, .columns = HIDDEN},
    [SUNDOG_TENSOR_CLASS_OUTPUT_BIAS] = {.rows = ONE, .columns = OUTPUTS},
    [SUNDOG_TENSOR_ALTUP_IN]         = {.rows = HIDDEN, .columns = HIDDEN, .stack = A_FURTHER_STREAM},
    [SUNDOG_TENSOR_ALTUP_OUT]        = {.rows = HIDDEN, .columns = HIDDEN, .stack = A_FURTHER_STREAM},
    [SUNDOG_TENSOR_OUTPUT]           = {.rows = VOCABULARY, .columns = HIDDEN},
    [SUNDOG_TENSOR_OUTPUT_BIAS]      = {.rows = ONE, .columns = VOCABULARY},
    [SUNDOG_TENSOR_ROPE_FACTORS]     = {.rows = ONE, .columns = HALF_ROPE},
    [SUNDOG_TENSOR_ROPE_LONG_FACTORS]  = {.rows = ONE, .columns = HALF_ROPE},
    [SUNDOG_TENSOR_ROPE_SHORT_FACTORS] = {.rows = ONE, .columns = HALF_ROPE},
    [SUNDOG_TENSOR_LAYER_INPUTS]     = {.rows = VOCABULARY, .columns = ALL_LAYER_INPUTS},
    [SUNDOG_TENSOR_LAYER_INPUTS_PROJECTION] = {.rows = ALL_LAYER_INPUTS, .columns = HIDDEN},
    [SUNDOG_TENSOR_LAYER_INPUTS_NORM] = {.rows = ONE, .columns = LAYER_INPUT},
    [SUNDOG_TENSOR_ATTENTION_NORM]   = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_NORM_BIAS] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_OWN_NORM] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_OWN_NORM_BIAS] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_Q]      = {.rows = QUERY, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_K]      = {.rows = KEY, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_V]      = {.rows = KEY, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_Q_BIAS] = {.rows = ONE, .columns = QUERY},
    [SUNDOG_TENSOR_ATTENTION_K_BIAS] = {.rows = ONE, .columns = KEY},
    [SUNDOG_TENSOR_ATTENTION_V_BIAS] = {.rows = ONE, .columns = KEY},
    [SUNDOG_TENSOR_ATTENTION_Q_DOWN] = {.rows = Q_RANK, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_Q_DOWN_NORM] = {.rows = ONE, .columns = Q_RANK},
    [SUNDOG_TENSOR_ATTENTION_Q_UP]   = {.rows = QUERY, .columns = Q_RANK},
    [SUNDOG_TENSOR_ATTENTION_KV_DOWN] = {.rows = LATENT, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_KV_DOWN_NORM] = {.rows = ONE, .columns = KV_RANK},
    [SUNDOG_TENSOR_ATTENTION_K_UP]   = {.rows = KV_RANK, .columns = PLAIN_KEY, .stack = A_HEAD},
    [SUNDOG_TENSOR_ATTENTION_V_UP]   = {.rows = VALUE, .columns = KV_RANK, .stack = A_HEAD},
    [SUNDOG_TENSOR_ATTENTION_OUTPUT] = {.rows = HIDDEN, .columns = ATTENDED},
    [SUNDOG_TENSOR_ATTENTION_OUTPUT_BIAS] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_SUM_NORM] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_SUM_NORM_BIAS] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_ATTENTION_SINKS]  = {.rows = ONE, .columns = HEADS},
    [SUNDOG_TENSOR_ATTENTION_Q_NORM] = {.rows = ONE, .columns = Q_NORM},
    [SUNDOG_TENSOR_ATTENTION_K_NORM] = {.rows = ONE, .columns = K_NORM},
    [SUNDOG_TENSOR_ATTENTION_POST_NORM] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_CONV_IN]          = {.rows = CONV_PARTS, .columns = HIDDEN, .recurrent = true},
    [SUNDOG_TENSOR_CONV_WEIGHT]      = {.rows = ONE, .columns = CONV_WIDTH, .stack = A_CHANNEL, .recurrent = true},
    [SUNDOG_TENSOR_CONV_OUT]         = {.rows = HIDDEN, .columns = HIDDEN, .recurrent = true},
    [SUNDOG_TENSOR_DELTA_QKV]        = {.rows = DELTA_QKV, .columns = HIDDEN, .recurrent = true},
    [SUNDOG_TENSOR_DELTA_GATE]       = {.rows = DELTA_VALUES, .columns = HIDDEN, .recurrent = true},
    [SUNDOG_TENSOR_STATE_IN]         = {.rows = STATE_PARTS, .columns = HIDDEN, .recurrent = true},
    [SUNDOG_TENSOR_STATE_CONV_BIAS]  = {.rows = ONE, .columns = DELTA_QKV, .recurrent = true},
    [SUNDOG_TENSOR_STATE_CONV]       = {.rows = ONE, .columns = CONV_WIDTH, .stack = A_STATE_CHANNEL, .recurrent = true},
    [SUNDOG_TENSOR_DELTA_BETA_ALPHA] = {.rows = DELTA_GATES, .columns = HIDDEN, .recurrent = true},
    [SUNDOG_TENSOR_DELTA_BETA]       = {.rows = DELTA_HEADS, .columns = HIDDEN, .recurrent = true},
    [SUNDOG_TENSOR_DELTA_ALPHA]      = {.rows = DELTA_HEADS, .columns = HIDDEN, .recurrent = true},
    [SUNDOG_TENSOR_STATE_STEP]       = {.rows = ONE, .columns = DELTA_HEADS, .recurrent = true},
    [SUNDOG_TENSOR_STATE_DECAY]      = {.rows = ONE, .columns = DELTA_HEADS, .recurrent = true},
    [SUNDOG_TENSOR_STATE_SKIP]       = {.rows = ONE, .columns = DELTA_HEADS, .recurrent = true},
    [SUNDOG_TENSOR_STATE_NORM]       = {.rows = ONE, .columns = STATE_NORMED, .stack = A_STATE_NORM, .recurrent = true},
    [SUNDOG_TENSOR_STATE_OUT]        = {.rows = HIDDEN, .columns = DELTA_VALUES, .recurrent = true},
    [SUNDOG_TENSOR_MLP_NORM]         = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_MLP_NORM_BIAS]    = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_MLP_GATE]         = {.rows = MLP, .columns = HIDDEN},
    [SUNDOG_TENSOR_MLP_UP]           = {.rows = MLP, .columns = HIDDEN},
    [SUNDOG_TENSOR_MLP_DOWN]         = {.rows = HIDDEN, .columns = MLP},
    [SUNDOG_TENSOR_MLP_UP_BIAS]      = {.rows = ONE, .columns = MLP},
    [SUNDOG_TENSOR_MLP_DOWN_BIAS]    = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_MLP_SUM_NORM]     = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_MLP_SUM_NORM_BIAS] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_MLP_POST_NORM]    = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_MLP_POST_NORM_1]  = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_MLP_NORM_2]       = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_MLP_POST_NORM_2]  = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_LAYER_INPUT_GATE] = {.rows = LAYER_INPUT, .columns = HIDDEN},
    [SUNDOG_TENSOR_LAYER_INPUT_PROJECTION] = {.rows = HIDDEN, .columns = LAYER_INPUT},
    [SUNDOG_TENSOR_LAYER_INPUT_NORM] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_ALTUP_PREDICTION] = {.rows = STREAM_PAIRS, .columns = STREAMS},
    [SUNDOG_TENSOR_ALTUP_CORRECTION] = {.rows = STREAMS, .columns = STREAMS},
    [SUNDOG_TENSOR_ALTUP_SCALE]      = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_ALTUP_ROUTER]     = {.rows = STREAMS, .columns = HIDDEN},
    [SUNDOG_TENSOR_ALTUP_ROUTER_NORM] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_LAUREL_LEFT]      = {.rows = LAUREL, .columns = HIDDEN},
    [SUNDOG_TENSOR_LAUREL_RIGHT]     = {.rows = HIDDEN, .columns = LAUREL},
    [SUNDOG_TENSOR_LAUREL_NORM]      = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_LAYER_SCALE]      = {.rows = ONE, .columns = ONE},
    [SUNDOG_TENSOR_ROUTER]           = {.rows = EXPERTS, .columns = HIDDEN},
    [SUNDOG_TENSOR_ROUTER_NORM]      = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_ROUTER_BIAS]      = {.rows = ONE, .columns = EXPERTS},
    [SUNDOG_TENSOR_EXPERT_BIAS]      = {.rows = ONE, .columns = EXPERTS},
    [SUNDOG_TENSOR_EXPERT_GATE]      = {.rows = EXPERT, .columns = HIDDEN, .stack = AN_EXPERT},
    [SUNDOG_TENSOR_EXPERT_UP]        = {.rows = EXPERT, .columns = HIDDEN, .stack = AN_EXPERT},
    [SUNDOG_TENSOR_EXPERT_DOWN]      = {.rows = HIDDEN, .columns = EXPERT, .stack = AN_EXPERT},
    [SUNDOG_TENSOR_EXPERT_SCALE]     = {.rows = ONE, .columns = EXPERTS},
    [SUNDOG_TENSOR_EXPERT_GATE_BIAS] = {.rows = ONE, .columns = EXPERT, .stack = AN_EXPERT},
    [SUNDOG_TENSOR_EXPERT_UP_BIAS]   = {.rows = ONE, .columns = EXPERT, .stack = AN_EXPERT},
    [SUNDOG_TENSOR_EXPERT_DOWN_BIAS] = {.rows = ONE, .columns = HIDDEN, .stack = AN_EXPERT},
    [SUNDOG_TENSOR_SHARED_GATE]      = {.rows = SHARED, .columns = HIDDEN},
    [SUNDOG_TENSOR_SHARED_UP]        = {.rows = SHARED, .columns = HIDDEN},
    [SUNDOG_TENSOR_SHARED_DOWN]      = {.rows = HIDDEN, .columns = SHARED},
    [SUNDOG_TENSOR_SHARED_SCALE]     = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_DRAFT_PROJECTION] = {.rows = HIDDEN, .columns = TOKEN_AND_HIDDEN},
    [SUNDOG_TENSOR_DRAFT_TOKEN_NORM] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_DRAFT_HIDDEN_NORM] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_DRAFT_EMBEDDING]  = {.rows = VOCABULARY, .columns = HIDDEN},
    [SUNDOG_TENSOR_DRAFT_OUTPUT_NORM] = {.rows = ONE, .columns = HIDDEN},
    [SUNDOG_TENSOR_DRAFT_OUTPUT]     = {.rows = VOCABULARY, .columns = HIDDEN},
};
/* clang-format on */

static const char *const role_names[] = {
#define X(role, name) [SUNDOG_TENSOR_##role] = name,
    SUNDOG_TENSOR_ROLES(X)
#undef X
};

G_STATIC_ASSERT(G_N_ELEMENTS(roles) == SUNDOG_N_TENSOR_ROLES);

static bool
is_per_layer(SundogTensorRole role)
{
    return strstr(role_names[role], "%u") != NULL;
}

/* A name with the layer's number in the place of %u. */
static char *
dup_name(const char *name, uint32_t layer)
{
    const char *place = strstr(name, "%u");
    if (place == NULL)
        return g_strdup(name);
    return g_strdup_printf("%.*s%u%s", (int)(place - name), name, layer, place + strlen("%u"));
}

char *
sundog_model_dup_tensor_name(SundogTensorRole role, uint32_t layer)
{
    return dup_name(role_names[role], layer);
}

static uint64_t
get_extent(const SundogModelDimensions *dimensions, Extent extent)
{
    const SundogRecurrentDimensions *recurrent = &dimensions->recurrent;
    bool is_latent = dimensions->latent.kv_rank > 0;
    switch (extent) {
    case ONE:
        return 1;
    case HIDDEN:
        return dimensions->hidden_size;
    case HEADS:
        return dimensions->n_heads;
    case Q_NORM:
        return get_extent(dimensions, dimensions->norms_whole_rows ? QUERY : HEAD);
    case K_NORM:
        return get_extent(dimensions, dimensions->norms_whole_rows ? KEY : HEAD);
    case HEAD:
        return dimensions->head_dim;
    case QUERY:
        return dimensions->n_heads *
               (uint64_t)(is_latent ? dimensions->latent.key_dim : dimensions->head_dim) *
               (dimensions->gates_attention ? 2 : 1);
    case ATTENDED:
        return dimensions->n_heads *
               (uint64_t)(is_latent ? dimensions->latent.value_dim : dimensions->head_dim);
    case KEY:
        return (uint64_t)dimensions->n_kv_heads * dimensions->head_dim;
    case MLP:
        return dimensions->mlp_size;
    case VOCABULARY:
        return dimensions->n_vocabulary;
    case TOKEN_AND_HIDDEN:
        return 2 * (uint64_t)dimensions->hidden_size;
    case LAYER_INPUT:
        return dimensions->layer_input_size;
    case ALL_LAYER_INPUTS:
        return (uint64_t)dimensions->n_layers * dimensions->layer_input_size;
    case HALF_ROPE:
        return dimensions->rope.n_dims / 2;
    case STREAMS:
        return dimensions->n_streams;
    case STREAM_PAIRS:
        return (uint64_t)dimensions->n_streams * dimensions->n_streams;
    case LAUREL:
        return dimensions->laurel_rank;
    case Q_RANK:
        return dimensions->latent.q_rank;
    case KV_RANK:
        return dimensions->latent.kv_rank;
    case LATENT:
        return dimensions->head_dim;
    case PLAIN_KEY:
        return is_latent ? dimensions->latent.key_dim - dimensions->rope.n_dims : 0;
    case VALUE:
        return dimensions->latent.value_dim;
    case CONV_PARTS:
        return 3 * (uint64_t)dimensions->hidden_size;
    case CONV_WIDTH:
        return recurrent->conv_width;
    case STATE_PARTS:
        return get_extent(dimensions, DELTA_VALUES) + get_extent(dimensions, DELTA_QKV) +
               recurrent->n_value_heads;
    case DELTA_QKV:
        return 2 * (uint64_t)recurrent->n_key_heads * recurrent->key_dim +
               (uint64_t)recurrent->n_value_heads * recurrent->value_dim;
    case DELTA_VALUES:
        return (uint64_t)recurrent->n_value_heads * recurrent->value_dim;
    case DELTA_HEADS:
        return recurrent->n_value_heads;
    case DELTA_GATES:
        return 2 * (uint64_t)recurrent->n_value_heads;
    case STATE_NORMED:
        return recurrent->is_state_space
                   ? get_extent(dimensions, DELTA_VALUES) / recurrent->n_key_heads
                   : recurrent->value_dim;
    case EXPERTS:
        return dimensions->experts.n_experts;
    case EXPERT:
        return dimensions->experts.size;
    case SHARED:
        return dimensions->experts.shared_size;
    case POSITIONS:
        return dimensions->pooled.n_positions;
    case TOKEN_TYPES:
        return dimensions->pooled.n_token_types;
    case DENSE:
        return dimensions->pooled.dense_size;
    case OUTPUTS:
        return dimensions->pooled.n_outputs;
    }
    g_assert_not_reached();
}

static uint64_t
get_n_stacked(const SundogModelDimensions *dimensions, SundogTensorRole role)
{
    switch (roles[role].stack) {
    case ONCE:
        return 1;
    case AN_EXPERT:
        return dimensions->experts.n_experts;
    case A_HEAD:
        return dimensions->n_heads;
    case A_CHANNEL:
        return dimensions->hidden_size;
    case A_STATE_CHANNEL:
        return get_extent(dimensions, DELTA_QKV);
    case A_FURTHER_STREAM:
        return dimensions->n_streams > 0 ? dimensions->n_streams - 1 : 0;
    case A_STATE_NORM:
        return dimensions->recurrent.is_state_space ? dimensions->recurrent.n_key_heads : 1;
    }
    g_assert_not_reached();
}

/* A stack has one more dimension, except that its vectors lie in the place of rows. */
static bool
check_shape(const SundogSourceTensor *found, uint64_t n_rows, uint64_t n_columns,
            uint64_t n_stacked, GError **error)
{
    uint64_t second = n_rows > 1 ? n_rows : n_stacked;
    uint64_t third = n_rows > 1 ? n_stacked : 1;
    if (found->shape[0] == n_columns && found->shape[1] == second && found->shape[2] == third &&
        found->shape[3] == 1)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "tensor %s has the shape [%" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT
                ", %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT "], expected [%" G_GUINT64_FORMAT
                ", %" G_GUINT64_FORMAT ", %" G_GUINT64_FORMAT ", 1]",
                found->own_name, found->shape[0], found->shape[1], found->shape[2], found->shape[3],
                n_columns, second, third);
    return false;
}

/* The same values in another shape: a vector with a row for each value, and a stack of vectors that lie in
 * one row. */
static void
reshape_vector(SundogSourceTensor *found, uint64_t n_columns, uint64_t n_stacked)
{
    bool is_column = n_stacked == 1 && found->shape[0] == 1 && found->shape[1] == n_columns;
    bool is_row = found->shape[0] == n_columns * n_stacked && found->shape[1] == 1;
    if ((!is_column && !is_row) || found->reader != NULL)
        return;
    found->shape[0] = n_columns;
    found->shape[1] = n_stacked;
}

static bool
check_type(const SundogSourceTensor *found, bool is_vector, GError **error)
{
    bool plain = found->type == SUNDOG_GGUF_F32 || found->type == SUNDOG_GGUF_F16 ||
                 found->type == SUNDOG_GGUF_BF16;
    if (found->n_bytes > 0 && found->type != SUNDOG_GGUF_I32 && (plain || !is_vector))
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                "tensor %s is of %s, expected %s", found->own_name,
                sundog_gguf_type_name(found->type),
                is_vector ? "F32, F16 or BF16" : "a type of weights known here");
    return false;
}

/* How many rows of a fused tensor, or columns of a fused vector, are a role's. */
static uint64_t
count_fused(const SundogModelDimensions *dimensions, SundogTensorRole role)
{
    bool is_vector = roles[role].rows == ONE;
    return get_extent(dimensions, is_vector ? roles[role].columns : roles[role].rows);
}

static void
cut_part(SundogSource *source, const SundogModelDimensions *dimensions,
         const SundogFusedTensor *fused, SundogTensorRole role, SundogSourceTensor *tensor)
{
    uint64_t first = 0;
    SundogSourceTensor whole = *tensor;
    for (uint32_t i = 0; fused->parts[i] != role; i++)
        first += count_fused(dimensions, fused->parts[i]);
    if (roles[role].rows != ONE) {
        sundog_rows_slice(source, &whole, first, count_fused(dimensions, role), tensor);
        return;
    }
    /* A vector is one row, of which rows of one value are cut. */
    whole.shape[1] = whole.shape[0];
    whole.shape[0] = 1;
    sundog_rows_slice(source, &whole, first, count_fused(dimensions, role), tensor);
    tensor->shape[0] = tensor->shape[1];
    tensor->shape[1] = 1;
}

/* Where a file holds the role as a part of a larger tensor: the part, under the role's own name. */
static bool
find_part(SundogTensors *tensors, const SundogModelDimensions *dimensions, SundogSource *source,
          SundogTensorRole role, uint32_t layer, SundogSourceTensor *part)
{
    const SundogFusedTensor *fused = sundog_fused_tensor_find(role);
    uint64_t n_rows = 0;
    if (fused == NULL || dimensions->layers[layer].is_recurrent)
        return false;
    g_autofree char *name = dup_name(fused->name, layer);
    g_autofree char *first = sundog_model_dup_tensor_name(fused->parts[0], layer);
    SundogSourceTensor own;
    if (sundog_source_find_tensor(source, first, &own))
        return false;
    for (uint32_t i = 0; i < fused->n_parts; i++)
        n_rows += count_fused(dimensions, fused->parts[i]);
    bool is_vector = roles[role].rows == ONE;
    if (!sundog_source_find_tensor(source, name, part) || part->n_bytes == 0 ||
        part->shape[is_vector ? 0 : 1] != n_rows ||
        (is_vector && sundog_float_bytes(part->type) == 0))
        return false;
    cut_part(source, dimensions, fused, role, part);
    g_ptr_array_add(tensors->names, g_steal_pointer(&name));
    g_ptr_array_add(tensors->names, sundog_model_dup_tensor_name(role, layer));
    part->name = tensors->names->pdata[tensors->names->len - 1];
    return true;
}

/* The dimensions with one layer's own sizes in them. */
static SundogModelDimensions
view_layer(const SundogModelDimensions *dimensions, uint32_t layer)
{
    SundogModelDimensions view = *dimensions;
    view.n_kv_heads = dimensions->layers[layer].n_kv_heads;
    view.head_dim = dimensions->layers[layer].head_dim;
    view.mlp_size = dimensions->layers[layer].mlp_size;
    return view;
}

/* The tensor of that name; some converters leave ".weight" out. */
static bool
find_whole(SundogSource *source, const char *name, SundogSourceTensor *found)
{
    if (sundog_source_find_tensor(source, name, found))
        return true;
    g_autofree char *stem = g_strdup(name);
    char *end = g_strrstr(stem, ".weight");
    if (end == NULL || end[strlen(".weight")] != '\0')
        return false;
    *end = '\0';
    return sundog_source_find_tensor(source, stem, found);
}

static bool
read_role(SundogTensors *tensors, const SundogModelDimensions *dimensions, SundogSource *source,
          SundogTensorRole role, uint32_t layer, GError **error)
{
    if (roles[role].recurrent && !dimensions->layers[layer].is_recurrent)
        return true;
    g_autofree char *name = sundog_model_dup_tensor_name(role, layer);
    SundogSourceTensor found;
    if (!find_part(tensors, dimensions, source, role, layer, &found) &&
        !find_whole(source, name, &found))
        return true;
    uint64_t n_rows = get_extent(dimensions, roles[role].rows);
    uint64_t n_columns = get_extent(dimensions, roles[role].columns);
    uint64_t n_stacked = get_n_stacked(dimensions, role);
    bool is_vector = roles[role].rows == ONE;
    if (is_vector)
        reshape_vector(&found, n_columns, n_stacked);
    if (!check_shape(&found, n_rows, n_columns, n_stacked, error) ||
        !check_type(&found, is_vector, error))
        return false;
    tensors->items[(size_t)role * tensors->n_layers + layer] = (SundogTensor){
        .name = found.name,
        .type = found.type,
        .n_rows = is_vector ? 1 : n_rows * n_stacked,
        .n_columns = is_vector ? n_columns * n_stacked : n_columns,
        .n_bytes = found.n_bytes,
        .data = found.data,
        .reader = found.reader,
        .reader_rows = is_vector ? n_stacked : 1,
    };
    return true;
}

static bool
is_of_draft_layer(const SundogModelDimensions *dimensions, const char *name)
{
    unsigned layer;
    return sscanf(name, "blk.%u.", &layer) == 1 && layer >= dimensions->n_layers &&
           layer - dimensions->n_layers < dimensions->n_draft_layers;
}

/* What chooses tokens, where the context is so short that all are chosen. */
static bool
is_of_indexer(const SundogModelDimensions *dimensions, const char *name)
{
    return dimensions->chosen_tokens > 0 && g_str_has_prefix(name, "blk.") &&
           strstr(name, ".indexer.") != NULL;
}

/* The first tensor of the source that no role has claimed. */
static bool
find_unclaimed(const SundogTensors *tensors, const SundogModelDimensions *dimensions,
               const SundogSource *source, SundogSourceTensor *unclaimed)
{
    g_autoptr(GHashTable) claimed = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t i = 0; i < (size_t)SUNDOG_N_TENSOR_ROLES * tensors->n_layers; i++)
        if (tensors->items[i].name != NULL)
            g_hash_table_add(claimed, (gpointer)tensors->items[i].name);
    for (guint i = 0; i < tensors->names->len; i++)
        g_hash_table_add(claimed, tensors->names->pdata[i]);
    for (size_t i = 0; i < sundog_source_get_n_tensors(source); i++) {
        sundog_source_get_tensor(source, i, unclaimed);
        if (!g_hash_table_contains(claimed, unclaimed->name) &&
            !is_of_draft_layer(dimensions, unclaimed->name) &&
            !is_of_indexer(dimensions, unclaimed->name))
            return true;
    }
    return false;
}

/* Of the model without what drafts, as its makers count. */
static uint64_t
count_parameters(const SundogTensors *tensors, const SundogModelDimensions *dimensions)
{
    uint64_t n_parameters = 0;
    for (unsigned role = 0; role < SUNDOG_N_TENSOR_ROLES; role++)
        for (uint32_t layer = 0; layer < dimensions->n_layers; layer++) {
            const SundogTensor *tensor = &tensors->items[(size_t)role * tensors->n_layers + layer];
            n_parameters += tensor->n_rows * tensor->n_columns;
        }
    return n_parameters;
}

static bool
read_all(SundogTensors *tensors, const SundogModelDimensions *dimensions, SundogSource *source,
         GError **error)
{
    for (unsigned role = 0; role < SUNDOG_N_TENSOR_ROLES; role++) {
        uint32_t n_layers = is_per_layer(role) ? tensors->n_layers : 1;
        for (uint32_t layer = 0; layer < n_layers; layer++) {
            SundogModelDimensions view = view_layer(dimensions, layer);
            bool drafts = layer >= dimensions->n_layers;
            /* Without what drafts the model is whole. */
            if (!read_role(tensors, &view, source, role, layer, drafts ? NULL : error) && !drafts)
                return false;
        }
    }
    SundogSourceTensor unclaimed;
    if (!find_unclaimed(tensors, dimensions, source, &unclaimed))
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                "the tensor %s has no role in a %s model of %u layers as it is known here",
                unclaimed.own_name, dimensions->architecture, dimensions->n_layers);
    return false;
}

/* A group of experts is as good as its best one, or its two best where the choice has a bias
 * (DeepSeek-AI 2024). */
static void
set_group_best(const SundogTensors *tensors, SundogModelDimensions *dimensions)
{
    dimensions->experts.group_best = 1;
    for (uint32_t layer = 0; layer < tensors->n_layers; layer++)
        if (sundog_tensors_get(tensors, SUNDOG_TENSOR_EXPERT_BIAS, layer) != NULL)
            dimensions->experts.group_best = 2;
}

bool
sundog_tensors_read(SundogTensors *tensors, SundogModelDimensions *dimensions, SundogSource *source,
                    GError **error)
{
    tensors->n_layers = dimensions->n_layers + dimensions->n_draft_layers;
    tensors->items = g_new0(SundogTensor, (size_t)SUNDOG_N_TENSOR_ROLES * tensors->n_layers);
    tensors->names = g_ptr_array_new_with_free_func(g_free);
    if (!read_all(tensors, dimensions, source, error)) {
        sundog_tensors_clear(tensors);
        return false;
    }
    dimensions->n_parameters = count_parameters(tensors, dimensions);
    if (sundog_tensors_get(tensors, SUNDOG_TENSOR_ROPE_FACTORS, 0) != NULL)
        dimensions->rope.scaling = SUNDOG_ROPE_SCALING_LLAMA3;
    set_group_best(tensors, dimensions);
    return true;
}

void
sundog_tensors_clear(SundogTensors *tensors)
{
    g_clear_pointer(&tensors->items, g_free);
    g_clear_pointer(&tensors->names, g_ptr_array_unref);
    tensors->n_layers = 0;
}

const SundogTensor *
sundog_tensors_get(const SundogTensors *tensors, SundogTensorRole role, uint32_t layer)
{
    if (tensors->items == NULL || (unsigned)role >= SUNDOG_N_TENSOR_ROLES)
        return NULL;
    if (!is_per_layer(role))
        layer = 0;
    if (layer >= tensors->n_layers)
        return NULL;
    const SundogTensor *tensor = &tensors->items[(size_t)role * tensors->n_layers + layer];
    return tensor->name != NULL ? tensor : NULL;
}
