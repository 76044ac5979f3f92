/*
 * The contract of each operation as a table of texts, one an argument: a type, then the dimensions.
 *
 * Types: f32, i32, u8, a8; "matrix" is a weight in panels, "vector" a dense one of a single row;
 * "activation" is f32, or a8 with the first dimension in tiles; "pages" is f16 or f32 state.
 *
 * Dimensions: a capital letter is any size, the same wherever the letter stands in the operation; a
 * sum joins letters and numbers; "tiles(T)" is whole tiles of 6; words are the sizes in find_word().
 * ">=" with a word is a workspace that may be larger.
 */

#include "engine/core/operation-check.h"

#include "kernels/contract/activation.h"
#include "kernels/contract/attention.h"
#include "kernels/contract/layout.h"
#include "kernels/contract/linear.h"
#include "kernels/contract/paged-cache.h"
#include "kernels/contract/sample.h"

#include <math.h>
#include <string.h>

static const char *const contracts[SUNDOG_N_OPERATIONS][SUNDOG_MAX_ARGUMENTS] = {
    [SUNDOG_OP_EMBED] = {"i32 T", "matrix V D", "f32 T D"},
    [SUNDOG_OP_RMS_NORM] = {"f32 T D", "vector 1 D", "f32 T D"},
    [SUNDOG_OP_QUANTIZE] = {"f32 T K", "a8 tiles(T) K"},
    [SUNDOG_OP_NORM_QUANTIZE] = {"f32 T K", "vector 1 K", "a8 tiles(T) K"},
    [SUNDOG_OP_LINEAR] = {"activation T K", "matrix N K", "vector 1 N", "f32 T N", "f32 T N",
                          "u8 units >=linear"},
    [SUNDOG_OP_LINEAR_QKV] = {"activation T K", "matrix A K", "matrix B K", "matrix C K",
                              "vector 1 A", "vector 1 B", "vector 1 C", "f32 T A+B+C",
                              "u8 units >=linear"},
    [SUNDOG_OP_LINEAR_GATED] = {"activation T K", "matrix N K", "matrix N K", "activation T N",
                                "u8 units >=linear"},
    [SUNDOG_OP_SILU_MUL] = {"f32 T N", "f32 T N", "f32 T N"},
    [SUNDOG_OP_ADD] = {"f32 T N", "f32 T N", "f32 T N"},
    [SUNDOG_OP_JOIN] = {"f32 T A", "f32 T B", "f32 T C", "f32 T A+B+C"},
    [SUNDOG_OP_ROPE_CACHE] = {"f32 T qkv", "i32 T", "i32 T", "i32 S P", "vector 1 rope",
                              "pages M kv_heads head_dim page", "pages M kv_heads page head_dim"},
    [SUNDOG_OP_PLAN_ATTENTION] = {"i32 S+1", "i32 S", "i32 work 4"},
    [SUNDOG_OP_ATTENTION] = {"f32 T qkv", "i32 T", "i32 S P", "i32 work 4",
                             "pages M kv_heads head_dim page", "pages M kv_heads page head_dim",
                             "activation T heads", "u8 units >=attention"},
    [SUNDOG_OP_GATHER_ROWS] = {"f32 T D", "i32 R", "f32 R D"},
    [SUNDOG_OP_SAMPLE] = {"f32 R V", "u8 R sampling", "i32 R H", "i32 R", "u8 units >=sample"},
};

/* One operation under check. */
typedef struct {
    const SundogProgram *program;
    const SundogOperation *operation;
    const SundogOperationInfo *info;
    uint32_t index;
    SundogExpressionPool *scratch;
    SundogExpression letters[26];
    bool is_bound[26];
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

static int64_t
parameter(const Check *check, const char *name)
{
    for (int i = 0; check->info->parameters[i].name != NULL; i++)
        if (strcmp(check->info->parameters[i].name, name) == 0)
            return check->operation->parameters[i].i;
    return 0;
}

static const SundogBuffer *
argument(const Check *check, int index)
{
    SundogBufferId id = check->operation->arguments[index];
    return id < sundog_program_get_n_buffers(check->program)
               ? sundog_program_get_buffer(check->program, id)
               : NULL;
}

/* The contracts' own functions are not asked about more, since they do not saturate. */
#define MAX_LETTER ((int64_t)1 << 40)

/* A letter of the table as a number, 0 where it is not bound to a constant. */
static int64_t
constant_letter(const Check *check, char letter)
{
    int64_t value = 0;
    if (check->is_bound[letter - 'A'])
        sundog_expression_get_constant(check->scratch, check->letters[letter - 'A'], &value);
    return MIN(value, MAX_LETTER);
}

static SundogExpression
constant(Check *check, int64_t value)
{
    return sundog_expression_constant(check->scratch, MAX(value, 0));
}

static SundogExpression
binary(Check *check, SundogExpressionKind kind, SundogExpression left, SundogExpression right)
{
    return sundog_expression_binary(check->scratch, kind, left, right);
}

/* 1 + ceil_div(tokens, rows of a tile) + sequences: never below sundog_attention_max_tiles(), since a
 * sequence adds at most one tile that is not full. */
static SundogExpression
attention_work(Check *check)
{
    SundogExpression tokens = sundog_expression_variable(check->scratch, SUNDOG_VARIABLE_TOKENS);
    SundogExpression sequences =
        sundog_expression_variable(check->scratch, SUNDOG_VARIABLE_SEQUENCES);
    SundogExpression full = binary(check, SUNDOG_EXPRESSION_CEIL_DIV, tokens,
                                   constant(check, SUNDOG_ATTENTION_TILE_ROWS));
    return binary(check, SUNDOG_EXPRESSION_ADD,
                  binary(check, SUNDOG_EXPRESSION_ADD, full, sequences), constant(check, 1));
}

static SundogExpression
find_word(Check *check, const char *word)
{
    int64_t n_heads = parameter(check, "n_heads");
    int64_t n_kv_heads = parameter(check, "n_kv_heads");
    int64_t head_dim = parameter(check, "head_dim");
    if (strcmp(word, "units") == 0)
        return sundog_expression_variable(check->scratch, SUNDOG_VARIABLE_UNITS);
    if (strcmp(word, "work") == 0)
        return attention_work(check);
    if (strcmp(word, "qkv") == 0)
        return constant(check, (n_heads + 2 * n_kv_heads) * head_dim);
    if (strcmp(word, "heads") == 0)
        return constant(check, n_heads * head_dim);
    if (strcmp(word, "kv_heads") == 0)
        return constant(check, n_kv_heads);
    if (strcmp(word, "head_dim") == 0)
        return constant(check, head_dim);
    if (strcmp(word, "rope") == 0)
        return constant(check, parameter(check, "rope_dims") / 2);
    if (strcmp(word, "page") == 0)
        return constant(check, SUNDOG_PAGE_TOKENS);
    if (strcmp(word, "sampling") == 0)
        return constant(check, sizeof(SundogSampling));
    g_assert_not_reached();
}

static int64_t
workspace_bytes(const Check *check, const char *word)
{
    if (strcmp(word, ">=linear") == 0)
        return (int64_t)sundog_linear_workspace_bytes(constant_letter(check, 'K'));
    if (strcmp(word, ">=attention") == 0)
        return (int64_t)sundog_attention_workspace_bytes(parameter(check, "head_dim"));
    return (int64_t)sundog_sample_workspace_bytes(constant_letter(check, 'V'));
}

static bool
is_letter(const char *word)
{
    return g_ascii_isupper(word[0]) && word[1] == '\0';
}

/* False where a letter of the word is not bound, so that nothing can be said. */
static bool
find_term(Check *check, const char *word, SundogExpression *term)
{
    if (g_ascii_isdigit(word[0])) {
        *term = constant(check, g_ascii_strtoll(word, NULL, 10));
        return true;
    }
    if (!is_letter(word)) {
        *term = find_word(check, word);
        return true;
    }
    *term = check->letters[word[0] - 'A'];
    return check->is_bound[word[0] - 'A'];
}

static bool
find_sum(Check *check, const char *text, SundogExpression *sum)
{
    g_auto(GStrv) terms = g_strsplit(text, "+", -1);
    if (!find_term(check, terms[0], sum))
        return false;
    for (int i = 1; terms[i] != NULL; i++) {
        SundogExpression term;
        if (!find_term(check, terms[i], &term))
            return false;
        *sum = binary(check, SUNDOG_EXPRESSION_ADD, *sum, term);
    }
    return true;
}

static bool
find_dimension(Check *check, const char *word, SundogExpression *dimension)
{
    if (!g_str_has_prefix(word, "tiles("))
        return find_sum(check, word, dimension);
    const char letter[2] = {word[strlen("tiles(")], '\0'};
    if (!find_term(check, letter, dimension))
        return false;
    *dimension =
        binary(check, SUNDOG_EXPRESSION_CEIL_DIV, *dimension, constant(check, SUNDOG_TILE_TOKENS));
    return true;
}

static void
check_dimension(Check *check, const char *name, const SundogBuffer *buffer, uint32_t d,
                const char *word)
{
    SundogExpression expected;
    g_autofree char *found = sundog_expression_print(check->scratch, buffer->shape[d]);
    if (g_str_has_prefix(word, ">=")) {
        int64_t value = 0;
        sundog_expression_get_constant(check->scratch, buffer->shape[d], &value);
        if (value < workspace_bytes(check, word))
            fault(check, name, "has %s bytes a unit, but %" G_GINT64_FORMAT " are needed", found,
                  workspace_bytes(check, word));
        return;
    }
    if (!find_dimension(check, word, &expected) || expected == buffer->shape[d])
        return;
    g_autofree char *wanted = sundog_expression_print(check->scratch, expected);
    fault(check, name, "has size %s in dimension %u, expected %s", found, d, wanted);
}

static bool
type_matches(const SundogBuffer *buffer, const char *type)
{
    if (strcmp(type, "matrix") == 0)
        return buffer->dtype == SUNDOG_DTYPE_WEIGHT && buffer->layout != SUNDOG_LAYOUT_DENSE_F32;
    if (strcmp(type, "vector") == 0)
        return buffer->dtype == SUNDOG_DTYPE_WEIGHT && buffer->layout == SUNDOG_LAYOUT_DENSE_F32;
    if (strcmp(type, "activation") == 0)
        return buffer->dtype == SUNDOG_DTYPE_F32 || buffer->dtype == SUNDOG_DTYPE_A8;
    if (strcmp(type, "pages") == 0)
        return buffer->role == SUNDOG_BUFFER_STATE &&
               (buffer->dtype == SUNDOG_DTYPE_F16 || buffer->dtype == SUNDOG_DTYPE_F32);
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

/* The first dimension of an "activation" counts tiles where the buffer is quantized. */
static const char *
dimension_word(const char *type, const SundogBuffer *buffer, char **words, uint32_t d)
{
    bool tiled = strcmp(type, "activation") == 0 && buffer->dtype == SUNDOG_DTYPE_A8;
    return tiled && d == 0 ? "tiles(T)" : words[d + 1];
}

typedef void (*VisitDimension)(Check *check, const char *name, const SundogBuffer *buffer,
                               uint32_t d, const char *word);

static void
bind_letter(Check *check, const char *name, const SundogBuffer *buffer, uint32_t d,
            const char *word)
{
    if (!is_letter(word) || check->is_bound[word[0] - 'A'])
        return;
    check->letters[word[0] - 'A'] = buffer->shape[d];
    check->is_bound[word[0] - 'A'] = true;
}

/* Visits the dimensions of all present arguments whose type and rank are as the table says. */
static void
visit_dimensions(Check *check, VisitDimension visit)
{
    for (int i = 0; check->info->arguments[i].name != NULL; i++) {
        const SundogBuffer *buffer = argument(check, i);
        g_auto(GStrv) words = g_strsplit(contracts[check->operation->kind][i], " ", -1);
        if (buffer == NULL || buffer->rank + 1 != g_strv_length(words) ||
            !type_matches(buffer, words[0]))
            continue;
        for (uint32_t d = 0; d < buffer->rank; d++)
            visit(check, check->info->arguments[i].name, buffer, d,
                  dimension_word(words[0], buffer, words, d));
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
    g_auto(GStrv) words = g_strsplit(contracts[check->operation->kind][index], " ", -1);
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
            !sundog_layout_is_quantized(buffer->layout))
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
    if (check->operation->kind == SUNDOG_OP_LINEAR_GATED && gate != NULL && up != NULL &&
        gate->layout != up->layout)
        fault(check, "gate", "is in %s, up in %s", sundog_layout_name(gate->layout),
              sundog_layout_name(up->layout));
}

#define MAX_SIZE 1048576 /* of a head and of counts of heads: their products stay far from 2^63 */

static void
check_heads(Check *check)
{
    int64_t n_heads = parameter(check, "n_heads");
    int64_t n_kv_heads = parameter(check, "n_kv_heads");
    if (n_heads < 1 || n_kv_heads < 1 || n_heads > MAX_SIZE || n_heads % n_kv_heads != 0)
        fault(check, "n_heads", "is %" G_GINT64_FORMAT ", not a multiple of %" G_GINT64_FORMAT,
              n_heads, n_kv_heads);
}

/* Returns false where a number is so wrong that no shape can be derived from it. */
static bool
check_parameters(Check *check)
{
    size_t before = check->faults->len;
    for (int i = 0; check->info->parameters[i].name != NULL; i++) {
        const SundogParameterInfo *info = &check->info->parameters[i];
        SundogParameter value = check->operation->parameters[i];
        if (info->is_float && (!isfinite(value.f) || value.f <= 0))
            fault(check, info->name, "is %g, not a number above 0", value.f);
        if (!info->is_float && (value.i < 0 || value.i > MAX_SIZE))
            fault(check, info->name, "is %" G_GINT64_FORMAT ", out of range", value.i);
        if (strcmp(info->name, "n_heads") == 0)
            check_heads(check);
        if (strcmp(info->name, "head_dim") == 0 && value.i < 1)
            fault(check, info->name, "is 0");
        if (strcmp(info->name, "rope_dims") == 0 &&
            (value.i < 2 || value.i % 2 != 0 || value.i > parameter(check, "head_dim")))
            fault(check, info->name,
                  "is %" G_GINT64_FORMAT ", not even or above a head's %" G_GINT64_FORMAT, value.i,
                  parameter(check, "head_dim"));
        if (strcmp(info->name, "interleaved") == 0 && value.i > 1)
            fault(check, info->name, "is %" G_GINT64_FORMAT ", not 0 or 1", value.i);
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
                   .scratch = scratch,
                   .faults = faults};
    for (int i = 0; check.info->arguments[i].name != NULL; i++)
        check_argument(&check, i);
    if (!check_parameters(&check))
        return;
    visit_dimensions(&check, bind_letter);
    visit_dimensions(&check, check_dimension);
    check_quantized(&check);
    check_gated(&check);
}

bool
sundog_operation_takes_matrix(SundogOperationKind kind, uint32_t argument)
{
    const char *contract = argument < SUNDOG_MAX_ARGUMENTS ? contracts[kind][argument] : NULL;
    return contract != NULL && g_str_has_prefix(contract, "matrix ");
}

bool
sundog_layout_is_quantized(SundogLayout layout)
{
    switch (layout) {
#define X(name, number, values, text) \
    case SUNDOG_LAYOUT_##name:        \
        return values > 1;
        SUNDOG_LAYOUTS(X)
#undef X
    }
    return false;
}
