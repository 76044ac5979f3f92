/* One operation against its contract: presence, roles, types, ranks, shapes, parameters. */

#include "engine/core/operation-check.h"

#include "engine/core/operation-contract.h"
#include "kernels/contract/activation.h"
#include "kernels/contract/gate.h"
#include "kernels/contract/layout.h"
#include "kernels/contract/pool.h"
#include "kernels/contract/recurrent.h"

#include <math.h>
#include <string.h>

/* One operation under check. */
typedef struct {
    const SundogProgram *program;
    const SundogOperation *operation;
    const SundogOperationInfo *info;
    uint32_t index;
    SundogContract contract;
    GString *faults;
} Check;

/* More lines than this help nobody. */
#define MAX_FAULTS_BYTES 16384

void
sundog_faults_add(GString *faults, const char *format, ...)
{
    if (faults->len > MAX_FAULTS_BYTES)
        return;
    va_list arguments;
    va_start(arguments, format);
    if (faults->len > 0)
        g_string_append_c(faults, '\n');
    g_string_append_vprintf(faults, format, arguments);
    va_end(arguments);
}

static void G_GNUC_PRINTF(3, 4) fault(Check *check, const char *part, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    sundog_faults_add(check->faults, "operation %u, %s: %s %s", check->index, check->info->name,
                      part, text);
}

static const SundogBuffer *
argument(const Check *check, int index)
{
    SundogBufferId id = check->operation->arguments[index];
    return id < sundog_program_get_n_buffers(check->program)
               ? sundog_program_get_buffer(check->program, id)
               : NULL;
}

static void
check_dimension(Check *check, const char *name, const SundogBuffer *buffer, uint32_t d,
                const char *word)
{
    SundogExpression expected;
    g_autofree char *found = sundog_expression_print(check->contract.scratch, buffer->shape[d]);
    if (g_str_has_prefix(word, ">=")) {
        int64_t value = 0;
        sundog_expression_get_constant(check->contract.scratch, buffer->shape[d], &value);
        if (value < sundog_contract_workspace_bytes(&check->contract, word))
            fault(check, name, "has %s bytes a unit, but %" G_GINT64_FORMAT " are needed", found,
                  sundog_contract_workspace_bytes(&check->contract, word));
        return;
    }
    if (!sundog_contract_find_dimension(&check->contract, word, &expected) ||
        expected == buffer->shape[d])
        return;
    g_autofree char *wanted = sundog_expression_print(check->contract.scratch, expected);
    fault(check, name, "has size %s in dimension %u, expected %s", found, d, wanted);
}

static bool
type_matches(const SundogBuffer *buffer, const char *type)
{
    if (strcmp(type, "matrix") == 0)
        return buffer->dtype == SUNDOG_DTYPE_WEIGHT && buffer->layout != SUNDOG_LAYOUT_DENSE_F32;
    if (strcmp(type, "vector") == 0)
        return buffer->dtype == SUNDOG_DTYPE_WEIGHT && buffer->layout == SUNDOG_LAYOUT_DENSE_F32;
    if (strcmp(type, "activation") == 0 || strcmp(type, "gathered") == 0)
        return buffer->dtype == SUNDOG_DTYPE_F32 || buffer->dtype == SUNDOG_DTYPE_BF16 ||
               buffer->dtype == SUNDOG_DTYPE_A8;
    if (strcmp(type, "float") == 0)
        return buffer->dtype == SUNDOG_DTYPE_F32 || buffer->dtype == SUNDOG_DTYPE_BF16;
    if (strcmp(type, "pages") == 0)
        return (buffer->role == SUNDOG_BUFFER_STATE &&
                (buffer->dtype == SUNDOG_DTYPE_F16 || buffer->dtype == SUNDOG_DTYPE_BF16 ||
                 buffer->dtype == SUNDOG_DTYPE_F32 || buffer->dtype == SUNDOG_DTYPE_Q8)) ||
               (buffer->role == SUNDOG_BUFFER_TEMPORARY &&
                (buffer->dtype == SUNDOG_DTYPE_F32 || buffer->dtype == SUNDOG_DTYPE_BF16));
    if (strcmp(type, "state") == 0)
        return buffer->role == SUNDOG_BUFFER_STATE && buffer->dtype == SUNDOG_DTYPE_F32;
    return strcmp(sundog_dtype_name(buffer->dtype), type) == 0;
}

static bool
role_allows(SundogBufferRole role, SundogAccess access)
{
    switch ((int)access & ~SUNDOG_ACCESS_OPTIONAL) {
    case SUNDOG_ACCESS_WRITE:
        return role == SUNDOG_BUFFER_OUTPUT || role == SUNDOG_BUFFER_TEMPORARY;
    case SUNDOG_ACCESS_UPDATE:
        return role != SUNDOG_BUFFER_WEIGHT;
    case SUNDOG_ACCESS_WORKSPACE:
        return role == SUNDOG_BUFFER_TEMPORARY;
    default:
        return true;
    }
}

/* The first dimension of an "activation" counts tiles where the buffer is quantized, that of a
 * "gathered" one counts rows where it is not. Owned by the caller. */
static char *
dup_dimension_word(const char *type, const SundogBuffer *buffer, char **words, uint32_t d)
{
    bool is_a8 = buffer->dtype == SUNDOG_DTYPE_A8;
    if (d == 0 && is_a8 && strcmp(type, "activation") == 0)
        return g_strdup_printf("tiles(%s)", words[d + 1]);
    if (d == 0 && !is_a8 && strcmp(type, "gathered") == 0)
        return g_strdup_printf("rows(%s)", words[d + 1]);
    return g_strdup(words[d + 1]);
}

typedef void (*VisitDimension)(Check *check, const char *name, const SundogBuffer *buffer,
                               uint32_t d, const char *word);

static void
bind_letter(Check *check, const char *name, const SundogBuffer *buffer, uint32_t d,
            const char *word)
{
    if (!sundog_contract_is_letter(word) || check->contract.is_bound[word[0] - 'A'])
        return;
    check->contract.letters[word[0] - 'A'] = buffer->shape[d];
    check->contract.is_bound[word[0] - 'A'] = true;
}

/* Visits the dimensions of all present arguments whose type and rank are as the table says. */
static void
visit_dimensions(Check *check, VisitDimension visit)
{
    for (int i = 0; check->info->arguments[i].name != NULL; i++) {
        const SundogBuffer *buffer = argument(check, i);
        g_auto(GStrv) words =
            g_strsplit(sundog_contract_get_text(check->operation->kind, (uint32_t)i), " ", -1);
        if (buffer == NULL || buffer->rank + 1 != g_strv_length(words) ||
            !type_matches(buffer, words[0]))
            continue;
        for (uint32_t d = 0; d < buffer->rank; d++) {
            g_autofree char *word = dup_dimension_word(words[0], buffer, words, d);
            visit(check, check->info->arguments[i].name, buffer, d, word);
        }
    }
}

static void
check_argument(Check *check, int index)
{
    const SundogArgumentInfo *info = &check->info->arguments[index];
    const SundogBuffer *buffer = argument(check, index);
    if (buffer == NULL) {
        if (check->operation->arguments[index] != SUNDOG_BUFFER_NONE)
            fault(check, info->name, "names buffer %u, which is not there",
                  check->operation->arguments[index]);
        else if ((info->access & SUNDOG_ACCESS_OPTIONAL) == 0)
            fault(check, info->name, "is absent");
        return;
    }
    g_auto(GStrv) words =
        g_strsplit(sundog_contract_get_text(check->operation->kind, (uint32_t)index), " ", -1);
    if (!type_matches(buffer, words[0]))
        fault(check, info->name, "is \"%s\", %s %s, expected %s", buffer->name,
              sundog_dtype_name(buffer->dtype),
              buffer->layout != 0 ? sundog_layout_name(buffer->layout) : "without layout",
              words[0]);
    else if (buffer->rank + 1 != g_strv_length(words))
        fault(check, info->name, "is \"%s\" of rank %u, expected %u", buffer->name, buffer->rank,
              g_strv_length(words) - 1);
    if (!role_allows(buffer->role, info->access))
        fault(check, info->name, "is \"%s\", which may not be written", buffer->name);
}

/* Quantized activations go with quantized weights only: the numeric class of a float weight is that
 * of float activations. */
static void
check_quantized(Check *check)
{
    const SundogBuffer *input = argument(check, 0);
    if (input == NULL || input->dtype != SUNDOG_DTYPE_A8)
        return;
    for (int i = 1; check->info->arguments[i].name != NULL; i++) {
        const SundogBuffer *buffer = argument(check, i);
        if (buffer != NULL && buffer->dtype == SUNDOG_DTYPE_WEIGHT &&
            buffer->layout != SUNDOG_LAYOUT_DENSE_F32 &&
            (!sundog_layout_is_quantized(buffer->layout) || sundog_layout_is_tile(buffer->layout)))
            fault(check, check->info->arguments[i].name,
                  "is \"%s\" in %s, which does not go with quantized activations", buffer->name,
                  sundog_layout_name(buffer->layout));
    }
}

/* Their panels are multiplied as one tile. */
static void
check_gated(Check *check)
{
    const SundogBuffer *gate = argument(check, 1);
    const SundogBuffer *up = argument(check, 2);
    bool is_gated = check->operation->kind == SUNDOG_OP_LINEAR_GATED ||
                    check->operation->kind == SUNDOG_OP_LINEAR_GATED_EXPERTS;
    if (is_gated && gate != NULL && up != NULL && gate->layout != up->layout)
        fault(check, "gate", "is in %s, up in %s", sundog_layout_name(gate->layout),
              sundog_layout_name(up->layout));
}

/* Frequencies are there where something is rotated, and only there. */
static void
check_frequencies(Check *check)
{
    if (check->operation->kind != SUNDOG_OP_ROPE_CACHE &&
        check->operation->kind != SUNDOG_OP_ROPE_PAGES)
        return;
    bool rotates = sundog_contract_get_parameter(&check->contract, "rope_dims") > 0;
    if (rotates != (argument(check, 4) != NULL))
        fault(check, "inverse_frequencies", rotates ? "is absent" : "is there, but rope_dims is 0");
}

/* Experts lie one after the other in one matrix, each in panels of its own. */
static void
check_experts(Check *check)
{
    bool has_experts = check->operation->kind == SUNDOG_OP_LINEAR_EXPERTS ||
                       check->operation->kind == SUNDOG_OP_LINEAR_GATED_EXPERTS;
    int64_t n_rows = sundog_contract_get_letter(&check->contract, 'N');
    if (has_experts && n_rows % SUNDOG_PANEL_ROWS != 0)
        fault(check, "y", "has %" G_GINT64_FORMAT " columns, not a multiple of %d", n_rows,
              SUNDOG_PANEL_ROWS);
}

static void
check_gather(Check *check)
{
    const SundogBuffer *x = argument(check, 0);
    const SundogBuffer *y = argument(check, 2);
    if (check->operation->kind == SUNDOG_OP_GATHER_EXPERTS && x != NULL && y != NULL &&
        x->dtype != y->dtype)
        fault(check, "y", "is %s, x is %s", sundog_dtype_name(y->dtype),
              sundog_dtype_name(x->dtype));
}

/* As many experts as are used must be left after the choice of groups. */
static void
check_route(Check *check)
{
    int64_t n_experts = sundog_contract_get_letter(&check->contract, 'X');
    int64_t n_used = sundog_contract_get_letter(&check->contract, 'U');
    int64_t n_groups = sundog_contract_get_parameter(&check->contract, "n_groups");
    int64_t n_groups_used = sundog_contract_get_parameter(&check->contract, "n_groups_used");
    if (check->operation->kind != SUNDOG_OP_ROUTE)
        return;
    if (n_experts % n_groups != 0 || n_groups_used > n_groups)
        fault(check, "n_groups",
              "is %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " experts, %" G_GINT64_FORMAT " used",
              n_groups, n_experts, n_groups_used);
    else if (n_used > n_groups_used * (n_experts / n_groups))
        fault(check, "choices",
              "are %" G_GINT64_FORMAT " a token, more than the %" G_GINT64_FORMAT
              " experts to choose from",
              n_used, n_groups_used * (n_experts / n_groups));
}

/* Value heads share out the key heads or groups, and what stands side by side is as wide as its parts. */
static void
check_heads_of_state(Check *check)
{
    int64_t n_key_heads = sundog_contract_get_parameter(&check->contract, "n_key_heads");
    int64_t key_dim = sundog_contract_get_parameter(&check->contract, "key_dim");
    int64_t value_dim = sundog_contract_get_parameter(&check->contract, "value_dim");
    int64_t n_heads = sundog_contract_get_letter(&check->contract, 'H');
    int64_t width = sundog_contract_get_letter(&check->contract, 'A');
    if (check->operation->kind != SUNDOG_OP_GATED_DELTA &&
        check->operation->kind != SUNDOG_OP_STATE_SPACE)
        return;
    if (key_dim > SUNDOG_DELTA_MAX_DIM || value_dim > SUNDOG_DELTA_MAX_DIM)
        fault(check, "state", "has heads of %" G_GINT64_FORMAT " by %" G_GINT64_FORMAT ", above %d",
              key_dim, value_dim, SUNDOG_DELTA_MAX_DIM);
    if (n_heads % n_key_heads != 0 || width != 2 * n_key_heads * key_dim + n_heads * value_dim)
        fault(check, check->info->arguments[0].name,
              "has %" G_GINT64_FORMAT " columns for %" G_GINT64_FORMAT " heads of %" G_GINT64_FORMAT
              " and %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT,
              width, n_key_heads, key_dim, n_heads, value_dim);
}

static void
check_group_norm(Check *check)
{
    int64_t n_columns = sundog_contract_get_letter(&check->contract, 'N');
    int64_t n_groups = sundog_contract_get_parameter(&check->contract, "n_groups");
    if (check->operation->kind == SUNDOG_OP_GROUP_NORM && n_columns % n_groups != 0)
        fault(check, "x", "has %" G_GINT64_FORMAT " columns, not a multiple of %" G_GINT64_FORMAT,
              n_columns, n_groups);
}

static void
check_gated_norm(Check *check)
{
    int64_t n_columns = sundog_contract_get_letter(&check->contract, 'N');
    int64_t head_dim = sundog_contract_get_letter(&check->contract, 'C');
    if (check->operation->kind == SUNDOG_OP_GATED_NORM && head_dim > 0 && n_columns % head_dim != 0)
        fault(check, "x", "has %" G_GINT64_FORMAT " columns, not a multiple of %" G_GINT64_FORMAT,
              n_columns, head_dim);
}

/* As many coefficients as pairs of streams, which are all of one size. */
static void
check_streams(Check *check)
{
    int64_t from = sundog_contract_get_letter(&check->contract, 'A');
    int64_t to = sundog_contract_get_letter(&check->contract, 'B');
    int64_t n_coefficients = sundog_contract_get_letter(&check->contract, 'C');
    int64_t size = sundog_contract_get_letter(&check->contract, 'D');
    int64_t n_from = sundog_contract_get_parameter(&check->contract, "n_from");
    int64_t n_to = sundog_contract_get_parameter(&check->contract, "n_to");
    if (check->operation->kind == SUNDOG_OP_MIX &&
        (from % n_from != 0 || to != from / n_from * n_to || n_coefficients != n_from * n_to))
        fault(check, "y",
              "has %" G_GINT64_FORMAT " columns, %" G_GINT64_FORMAT " streams of %" G_GINT64_FORMAT
              " columns in %" G_GINT64_FORMAT " with %" G_GINT64_FORMAT " coefficients",
              to, n_to, from, n_from, n_coefficients);
    if (check->operation->kind == SUNDOG_OP_MATCH_NORM && (size < 1 || from % size != 0))
        fault(check, "x", "has %" G_GINT64_FORMAT " columns, not a multiple of %" G_GINT64_FORMAT,
              from, size);
}

static void
check_take(Check *check)
{
    int64_t stride = sundog_contract_get_parameter(&check->contract, "stride");
    int64_t offset = sundog_contract_get_parameter(&check->contract, "offset");
    int64_t size = sundog_contract_get_parameter(&check->contract, "size");
    int64_t from = sundog_contract_get_letter(&check->contract, 'A');
    int64_t to = sundog_contract_get_letter(&check->contract, 'B');
    if (check->operation->kind == SUNDOG_OP_TAKE &&
        (from % stride != 0 || offset + size > stride || to != from / stride * size))
        fault(check, "y",
              "has %" G_GINT64_FORMAT " columns, %" G_GINT64_FORMAT " from %" G_GINT64_FORMAT
              " of each %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT,
              to, size, offset, stride, from);
}

/* Attention's heads are quantized one by one. */
static void
check_attention(Check *check)
{
    const SundogBuffer *o = argument(check, 6);
    int64_t head_dim = sundog_contract_get_parameter(&check->contract, "head_dim");
    if (check->operation->kind == SUNDOG_OP_ATTENTION && o != NULL && o->dtype == SUNDOG_DTYPE_A8 &&
        head_dim % SUNDOG_ACTIVATION_BLOCK != 0)
        fault(check, "o", "is quantized, but heads of %" G_GINT64_FORMAT " are no whole blocks",
              head_dim);
}

/* Heads share out the rows of the weight, in whole panels, and the columns of a. */
static void
check_linear_heads(Check *check)
{
    int64_t n_heads = sundog_contract_get_parameter(&check->contract, "n_heads");
    int64_t offset = sundog_contract_get_parameter(&check->contract, "offset");
    int64_t n_rows = sundog_contract_get_letter(&check->contract, 'N');
    int64_t n_columns = sundog_contract_get_letter(&check->contract, 'K');
    int64_t width = sundog_contract_get_letter(&check->contract, 'A');
    if (check->operation->kind != SUNDOG_OP_LINEAR_HEADS)
        return;
    if (n_rows % (n_heads * SUNDOG_PANEL_ROWS) != 0)
        fault(check, "w",
              "has %" G_GINT64_FORMAT " rows, not whole panels for %" G_GINT64_FORMAT " heads",
              n_rows, n_heads);
    if (width % n_heads != 0 || offset + n_columns > width / n_heads)
        fault(check, "a",
              "has %" G_GINT64_FORMAT " columns for %" G_GINT64_FORMAT " heads of %" G_GINT64_FORMAT
              " from %" G_GINT64_FORMAT " on",
              width, n_heads, n_columns, offset);
}

static void
check_latent(Check *check)
{
    int64_t n_heads = sundog_contract_get_parameter(&check->contract, "n_heads");
    int64_t n_kv_heads = sundog_contract_get_parameter(&check->contract, "n_kv_heads");
    int64_t head_dim = sundog_contract_get_parameter(&check->contract, "head_dim");
    int64_t rope_dims = sundog_contract_get_parameter(&check->contract, "rope_dims");
    int64_t n_latent = sundog_contract_get_letter(&check->contract, 'R');
    int64_t width = sundog_contract_get_letter(&check->contract, 'A');
    if (check->operation->kind != SUNDOG_OP_LATENT_QKV)
        return;
    if (n_kv_heads != 1 || n_latent + rope_dims != head_dim)
        fault(check, "head_dim",
              "is %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " groups, not %" G_GINT64_FORMAT
              " of 1",
              head_dim, n_kv_heads, n_latent + rope_dims);
    if (width % n_heads != 0 || width / n_heads < rope_dims)
        fault(check, "q",
              "has %" G_GINT64_FORMAT " columns, not %" G_GINT64_FORMAT
              " heads of at least %" G_GINT64_FORMAT,
              width, n_heads, rope_dims);
}

/* A factor an element, or one a row. */
static void
check_factors(Check *check)
{
    int64_t n_gates = sundog_contract_get_letter(&check->contract, 'G');
    int64_t n_columns = sundog_contract_get_letter(&check->contract, 'N');
    bool has_factors =
        check->operation->kind == SUNDOG_OP_SIGMOID_MUL || check->operation->kind == SUNDOG_OP_MUL;
    if (has_factors && n_gates != 1 && n_gates != n_columns)
        fault(check, check->operation->kind == SUNDOG_OP_MUL ? "b" : "gate",
              "has %" G_GINT64_FORMAT " columns, not 1 or %" G_GINT64_FORMAT, n_gates, n_columns);
}

/* Queries stand alone or before the keys and values of their rows. */
static void
check_queries(Check *check)
{
    if (check->operation->kind != SUNDOG_OP_ATTENTION)
        return;
    int64_t n_columns = sundog_contract_get_letter(&check->contract, 'Q');
    int64_t n_heads = sundog_contract_get_parameter(&check->contract, "n_heads");
    int64_t n_kv_heads = sundog_contract_get_parameter(&check->contract, "n_kv_heads");
    int64_t head_dim = sundog_contract_get_parameter(&check->contract, "head_dim");
    if (n_columns != n_heads * head_dim && n_columns != (n_heads + 2 * n_kv_heads) * head_dim)
        fault(check, "qkv",
              "has %" G_GINT64_FORMAT " columns, expected those of %" G_GINT64_FORMAT
              " heads, or of keys and values too",
              n_columns, n_heads);
}

#define MAX_SIZE 1048576 /* of a head and of counts of heads: their products stay far from 2^63 */

static void
check_heads(Check *check)
{
    int64_t n_heads = sundog_contract_get_parameter(&check->contract, "n_heads");
    int64_t n_kv_heads = 1;
    if (check->operation->kind != SUNDOG_OP_LINEAR_HEADS)
        n_kv_heads = sundog_contract_get_parameter(&check->contract, "n_kv_heads");
    /* Operations on queries alone have no other heads. */
    bool is_alone = n_kv_heads == 0 && (check->operation->kind == SUNDOG_OP_ROPE ||
                                        check->operation->kind == SUNDOG_OP_HEAD_NORM);
    if (n_heads < 1 || n_heads > MAX_SIZE ||
        (!is_alone && (n_kv_heads < 1 || n_heads % n_kv_heads != 0)))
        fault(check, "n_heads", "is %" G_GINT64_FORMAT ", not a multiple of %" G_GINT64_FORMAT,
              n_heads, n_kv_heads);
}

static bool
is_count(const char *name)
{
    static const char *const counts[] = {"head_dim", "period",        "n_experts",  "n_used",
                                         "n_groups", "n_groups_used", "group_best", "n_key_heads",
                                         "n_from",   "n_to",          "key_dim",    "value_dim",
                                         "width",    "stride",        "size"};
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
        if (strcmp(name, counts[i]) == 0)
            return true;
    return false;
}

static void
check_function(Check *check, const char *name, int64_t value)
{
    static const struct {
        const char *name;
        int n;
    } lists[] = {{"function", SUNDOG_N_GATES}, {"pooling", SUNDOG_N_POOLS}};
    for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
        if (strcmp(lists[i].name, name) == 0 && value >= lists[i].n)
            fault(check, name, "is %" G_GINT64_FORMAT ", not below %d", value, lists[i].n);
}

/* Returns false where a number is so wrong that no shape can be derived from it. */
static bool
check_parameters(Check *check)
{
    size_t before = check->faults->len;
    for (int i = 0; check->info->parameters[i].name != NULL; i++) {
        const SundogParameterInfo *info = &check->info->parameters[i];
        SundogParameter value = check->operation->parameters[i];
        bool may_be_zero = strcmp(info->name, "softcap") == 0 || strcmp(info->name, "margin") == 0;
        if (info->is_float && (!isfinite(value.f) || value.f < 0 || (value.f == 0 && !may_be_zero)))
            fault(check, info->name, "is %g, not a number above 0", value.f);
        if (!info->is_float && (value.i < 0 || value.i > MAX_SIZE))
            fault(check, info->name, "is %" G_GINT64_FORMAT ", out of range", value.i);
        if (strcmp(info->name, "n_heads") == 0)
            check_heads(check);
        if (is_count(info->name) && value.i < 1)
            fault(check, info->name, "is 0");
        if (strcmp(info->name, "rope_dims") == 0 &&
            (value.i % 2 != 0 ||
             value.i > sundog_contract_get_parameter(&check->contract, "head_dim")))
            fault(check, info->name,
                  "is %" G_GINT64_FORMAT ", not even or above a head's %" G_GINT64_FORMAT, value.i,
                  sundog_contract_get_parameter(&check->contract, "head_dim"));
        if ((strcmp(info->name, "interleaved") == 0 || strcmp(info->name, "both_ways") == 0) &&
            value.i > 1)
            fault(check, info->name, "is %" G_GINT64_FORMAT ", not 0 or 1", value.i);
        check_function(check, info->name, value.i);
    }
    return check->faults->len == before;
}

void
sundog_operation_check(const SundogProgram *program, uint32_t index, SundogExpressionPool *scratch,
                       GString *faults)
{
    const SundogOperation *operation = sundog_program_get_operation(program, index);
    Check check = {.program = program,
                   .operation = operation,
                   .info = &sundog_operations[operation->kind],
                   .index = index,
                   .contract = {.operation = operation, .scratch = scratch},
                   .faults = faults};
    for (int i = 0; check.info->arguments[i].name != NULL; i++)
        check_argument(&check, i);
    if (!check_parameters(&check))
        return;
    visit_dimensions(&check, bind_letter);
    visit_dimensions(&check, check_dimension);
    check_quantized(&check);
    check_gated(&check);
    check_frequencies(&check);
    check_queries(&check);
    check_experts(&check);
    check_gather(&check);
    check_route(&check);
    check_factors(&check);
    check_linear_heads(&check);
    check_latent(&check);
    check_attention(&check);
    check_heads_of_state(&check);
    check_group_norm(&check);
    check_gated_norm(&check);
    check_streams(&check);
    check_take(&check);
}
