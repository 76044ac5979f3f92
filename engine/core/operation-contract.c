/* The contracts of all operations, and their words as sizes. */

#include "engine/core/operation-contract.h"

#include "kernels/contract/activation.h"
#include "kernels/contract/attention.h"
#include "kernels/contract/experts.h"
#include "kernels/contract/linear.h"
#include "kernels/contract/paged-cache.h"
#include "kernels/contract/sample.h"

#include <string.h>

static const char *const contracts[SUNDOG_N_OPERATIONS][SUNDOG_MAX_ARGUMENTS] = {
    [SUNDOG_OP_EMBED] = {"i32 T", "matrix V D", "f32 T D"},
    [SUNDOG_OP_RMS_NORM] = {"f32 T D", "vector 1 D", "float T D"},
    [SUNDOG_OP_POOL] = {"f32 T D", "i32 S+1", "f32 S D"},
    [SUNDOG_OP_QUANTIZE] = {"f32 T K", "a8 tiles(T) K"},
    [SUNDOG_OP_NORM_QUANTIZE] = {"f32 T K", "vector 1 K", "a8 tiles(T) K"},
    [SUNDOG_OP_LINEAR] = {"activation T K", "matrix N K", "vector 1 N", "f32 T N", "f32 T N",
                          "u8 units >=linear"},
    [SUNDOG_OP_LINEAR_QKV] = {"activation T K", "matrix A K", "matrix B K", "matrix C K",
                              "vector 1 A", "vector 1 B", "vector 1 C", "f32 T A+B+C",
                              "u8 units >=linear"},
    [SUNDOG_OP_LINEAR_GATED] = {"activation T K", "matrix N K", "matrix N K", "activation T N",
                                "u8 units >=linear"},
    [SUNDOG_OP_GATE] = {"float T N", "float T N", "float T N"},
    [SUNDOG_OP_SCALE] = {"float T N", "float T N"},
    [SUNDOG_OP_SOFTCAP] = {"float T N", "float T N"},
    [SUNDOG_OP_ADD] = {"float T N", "float T N", "float T N"},
    [SUNDOG_OP_JOIN] = {"float T A", "float T B", "float T C", "float T A+B+C"},
    [SUNDOG_OP_HEAD_NORM] = {"f32 T qkv", "vector 1 head_dim", "vector 1 head_dim",
                             "vector 1 head_dim"},
    [SUNDOG_OP_SCALE_QUERIES] = {"f32 T qkv", "i32 T", "vector 1 N"},
    [SUNDOG_OP_ROPE] = {"f32 T heads", "i32 T", "vector 1 rope"},
    [SUNDOG_OP_ROPE_CACHE] = {"f32 T qkv", "i32 T", "i32 T", "i32 S P", "vector 1 rope",
                              "pages M kv_heads head_dim page", "pages M kv_heads page head_dim"},
    [SUNDOG_OP_ROPE_PAGES] = {"f32 T qkv", "i32 T", "i32 T", "i32 S P", "vector 1 rope",
                              "float step_pages kv_heads head_dim page",
                              "float step_pages kv_heads page head_dim"},
    [SUNDOG_OP_PLAN_ATTENTION] = {"i32 S+1", "i32 S", "i32 work 4"},
    [SUNDOG_OP_ATTENTION] = {"f32 T Q", "i32 T", "i32 S P", "i32 work 4",
                             "pages M kv_heads head_dim page", "pages M kv_heads page head_dim",
                             "activation T heads", "u8 units >=attention", "vector 1 n_heads"},
    [SUNDOG_OP_LINEAR_HEADS] = {"float T A", "matrix N K", "f32 T N", "u8 units >=linear"},
    [SUNDOG_OP_LATENT_QKV] = {"f32 T A", "f32 T n_heads*R", "f32 T head_dim", "vector 1 R",
                              "f32 T qkv"},
    [SUNDOG_OP_SHORT_CONV] = {"f32 T C", "vector 1 C*width", "vector 1 C", "i32 S+1", "i32 S",
                              "i32 S", "state Z back C", "f32 T C"},
    [SUNDOG_OP_GATED_DELTA] = {"f32 T A", "f32 T H", "f32 T H", "vector 1 H", "vector 1 H",
                               "i32 S+1", "i32 S", "i32 S", "state Z H key_dim value_dim",
                               "f32 T H*value_dim"},
    [SUNDOG_OP_STATE_SPACE] = {"f32 T A", "f32 T H", "vector 1 H", "vector 1 H", "vector 1 H",
                               "i32 S+1", "i32 S", "i32 S", "state Z H key_dim value_dim",
                               "f32 T H*value_dim"},
    [SUNDOG_OP_GROUP_NORM] = {"float T N", "vector 1 N", "float T N"},
    [SUNDOG_OP_LAYER_NORM] = {"float T D", "vector 1 D", "vector 1 D", "float T D"},
    [SUNDOG_OP_GATED_NORM] = {"float T N", "vector 1 C", "float T N", "float T N"},
    [SUNDOG_OP_TAKE] = {"float T A", "float T B"},
    [SUNDOG_OP_MUL] = {"float T N", "float T G", "float T N"},
    [SUNDOG_OP_SUBTRACT] = {"float T N", "float T N", "float T N"},
    [SUNDOG_OP_SCALE_COLUMNS] = {"float T N", "vector 1 N", "float T N"},
    [SUNDOG_OP_MIX] = {"f32 T A", "f32 T C", "f32 T B", "f32 T B"},
    [SUNDOG_OP_MATCH_NORM] = {"f32 T A", "f32 T D", "f32 T A"},
    [SUNDOG_OP_SPARSIFY] = {"f32 T N", "f32 T N"},
    [SUNDOG_OP_ROUTE] = {"f32 T X", "vector 1 X", "i32 T U", "f32 T U", "u8 units >=route",
                         "vector 1 X"},
    [SUNDOG_OP_PLAN_EXPERTS] = {"i32 T U", "i32 entries(T*U) 8", "u8 units >=experts"},
    [SUNDOG_OP_GATHER_EXPERTS] = {"activation T K", "i32 W 8", "gathered W K"},
    [SUNDOG_OP_LINEAR_GATED_EXPERTS] = {"gathered W K", "matrix n_experts*N K",
                                        "matrix n_experts*N K", "vector 1 n_experts*N",
                                        "vector 1 n_experts*N", "i32 W 8", "gathered W N",
                                        "u8 units >=linear"},
    [SUNDOG_OP_LINEAR_EXPERTS] = {"gathered entries(A) K", "matrix n_experts*N K",
                                  "vector 1 n_experts*N", "i32 entries(A) 8", "f32 A N",
                                  "u8 units >=linear"},
    [SUNDOG_OP_COMBINE_EXPERTS] = {"f32 T*U N", "f32 T U", "f32 T N", "f32 T N"},
    [SUNDOG_OP_SIGMOID_MUL] = {"float T G", "float T N", "float T N"},
    [SUNDOG_OP_GATHER_ROWS] = {"f32 T D", "i32 R", "f32 R D"},
    [SUNDOG_OP_SAMPLE] = {"f32 R V", "u8 R sampling", "i32 R H", "i32 R M", "i32 R B", "i32 R",
                          "u8 units >=sample", "i32 R E"},
};

int64_t
sundog_contract_get_parameter(const SundogContract *contract, const char *name)
{
    for (int i = 0; sundog_operations[contract->operation->kind].parameters[i].name != NULL; i++)
        if (strcmp(sundog_operations[contract->operation->kind].parameters[i].name, name) == 0)
            return contract->operation->parameters[i].i;
    return 0;
}

/* The contracts' own functions are not asked about more, since they do not saturate. */
#define MAX_LETTER ((int64_t)1 << 40)

int64_t
sundog_contract_get_letter(const SundogContract *contract, char letter)
{
    int64_t value = 0;
    if (contract->is_bound[letter - 'A'])
        sundog_expression_get_constant(contract->scratch, contract->letters[letter - 'A'], &value);
    return MIN(value, MAX_LETTER);
}

static SundogExpression
constant(SundogContract *contract, int64_t value)
{
    return sundog_expression_constant(contract->scratch, MAX(value, 0));
}

static SundogExpression
binary(SundogContract *contract, SundogExpressionKind kind, SundogExpression left,
       SundogExpression right)
{
    return sundog_expression_binary(contract->scratch, kind, left, right);
}

/* 1 + ceil_div(tokens, rows of a tile) + sequences: never below sundog_attention_max_tiles(), since a
 * sequence adds at most one tile that is not full. */
static SundogExpression
attention_work(SundogContract *contract)
{
    SundogExpression tokens = sundog_expression_variable(contract->scratch, SUNDOG_VARIABLE_TOKENS);
    SundogExpression sequences =
        sundog_expression_variable(contract->scratch, SUNDOG_VARIABLE_SEQUENCES);
    SundogExpression full = binary(contract, SUNDOG_EXPRESSION_CEIL_DIV, tokens,
                                   constant(contract, SUNDOG_ATTENTION_TILE_ROWS));
    return binary(contract, SUNDOG_EXPRESSION_ADD,
                  binary(contract, SUNDOG_EXPRESSION_ADD, full, sequences), constant(contract, 1));
}

/* 1 + ceil_div(tokens, page) + sequences: the null page, and of each sequence one that is not full. */
static SundogExpression
count_step_pages(SundogContract *contract)
{
    SundogExpression tokens = sundog_expression_variable(contract->scratch, SUNDOG_VARIABLE_TOKENS);
    SundogExpression sequences =
        sundog_expression_variable(contract->scratch, SUNDOG_VARIABLE_SEQUENCES);
    SundogExpression full = binary(contract, SUNDOG_EXPRESSION_CEIL_DIV, tokens,
                                   constant(contract, SUNDOG_PAGE_TOKENS));
    return binary(contract, SUNDOG_EXPRESSION_ADD,
                  binary(contract, SUNDOG_EXPRESSION_ADD, full, sequences), constant(contract, 1));
}

static SundogExpression
find_word(SundogContract *contract, const char *word)
{
    int64_t n_heads = sundog_contract_get_parameter(contract, "n_heads");
    int64_t n_kv_heads = sundog_contract_get_parameter(contract, "n_kv_heads");
    int64_t head_dim = sundog_contract_get_parameter(contract, "head_dim");
    if (strcmp(word, "units") == 0)
        return sundog_expression_variable(contract->scratch, SUNDOG_VARIABLE_UNITS);
    if (strcmp(word, "work") == 0)
        return attention_work(contract);
    if (strcmp(word, "step_pages") == 0)
        return count_step_pages(contract);
    if (strcmp(word, "qkv") == 0)
        return constant(contract, (n_heads + 2 * n_kv_heads) * head_dim);
    if (strcmp(word, "heads") == 0)
        return constant(contract, n_heads * head_dim);
    if (strcmp(word, "n_heads") == 0)
        return constant(contract, n_heads);
    if (strcmp(word, "kv_heads") == 0)
        return constant(contract, n_kv_heads);
    if (strcmp(word, "head_dim") == 0)
        return constant(contract, head_dim);
    if (strcmp(word, "rope") == 0)
        return constant(contract, sundog_contract_get_parameter(contract, "rope_dims") / 2);
    if (strcmp(word, "back") == 0)
        return constant(contract, sundog_contract_get_parameter(contract, "width") - 1);
    static const char *const parameters[] = {"n_experts", "width", "key_dim", "value_dim"};
    for (size_t i = 0; i < G_N_ELEMENTS(parameters); i++)
        if (strcmp(word, parameters[i]) == 0)
            return constant(contract, sundog_contract_get_parameter(contract, word));
    if (strcmp(word, "page") == 0)
        return constant(contract, SUNDOG_PAGE_TOKENS);
    if (strcmp(word, "sampling") == 0)
        return constant(contract, sizeof(SundogSampling));
    g_assert_not_reached();
}

int64_t
sundog_contract_workspace_bytes(const SundogContract *contract, const char *word)
{
    if (strcmp(word, ">=linear") == 0)
        return (int64_t)sundog_linear_workspace_bytes(sundog_contract_get_letter(contract, 'K'));
    if (strcmp(word, ">=attention") == 0)
        return (int64_t)sundog_attention_workspace_bytes(
            sundog_contract_get_parameter(contract, "head_dim"));
    if (strcmp(word, ">=route") == 0)
        return (int64_t)sundog_route_workspace_bytes(sundog_contract_get_letter(contract, 'X'));
    if (strcmp(word, ">=experts") == 0)
        return (int64_t)sundog_plan_experts_workspace_bytes(
            sundog_contract_get_parameter(contract, "n_experts"));
    return (int64_t)sundog_sample_workspace_bytes(sundog_contract_get_letter(contract, 'V'));
}

bool
sundog_contract_is_letter(const char *word)
{
    return g_ascii_isupper(word[0]) && word[1] == '\0';
}

static bool
find_term(SundogContract *contract, const char *word, SundogExpression *term)
{
    if (g_ascii_isdigit(word[0])) {
        *term = constant(contract, g_ascii_strtoll(word, NULL, 10));
        return true;
    }
    if (!sundog_contract_is_letter(word)) {
        *term = find_word(contract, word);
        return true;
    }
    *term = contract->letters[word[0] - 'A'];
    return contract->is_bound[word[0] - 'A'];
}

/* Terms joined by the sign of one kind of expression. */
static bool
find_joined(SundogContract *contract, const char *text, const char *sign, SundogExpressionKind kind,
            bool (*find)(SundogContract *, const char *, SundogExpression *), SundogExpression *all)
{
    g_auto(GStrv) terms = g_strsplit(text, sign, -1);
    if (!find(contract, terms[0], all))
        return false;
    for (int i = 1; terms[i] != NULL; i++) {
        SundogExpression term;
        if (!find(contract, terms[i], &term))
            return false;
        *all = binary(contract, kind, *all, term);
    }
    return true;
}

static bool
find_product(SundogContract *contract, const char *text, SundogExpression *product)
{
    return find_joined(contract, text, "*", SUNDOG_EXPRESSION_MUL, find_term, product);
}

static bool
find_sum(SundogContract *contract, const char *text, SundogExpression *sum)
{
    return find_joined(contract, text, "+", SUNDOG_EXPRESSION_ADD, find_product, sum);
}

/* What stands in brackets after a name. */
static bool
find_inner(SundogContract *contract, const char *word, const char *name, SundogExpression *inner)
{
    size_t begin = strlen(name) + 1;
    g_autofree char *text = g_strndup(word + begin, strlen(word) - begin - 1);
    return sundog_contract_find_dimension(contract, text, inner);
}

static SundogExpression
count_rows(SundogContract *contract, SundogExpression tiles)
{
    return binary(contract, SUNDOG_EXPRESSION_MUL, tiles, constant(contract, SUNDOG_TILE_TOKENS));
}

static SundogExpression
count_tiles(SundogContract *contract, SundogExpression rows)
{
    return binary(contract, SUNDOG_EXPRESSION_CEIL_DIV, rows,
                  constant(contract, SUNDOG_TILE_TOKENS));
}

/* Entries of a work list for so many choices: whole tiles, and one that is not full an expert. */
static SundogExpression
count_entries(SundogContract *contract, SundogExpression choices)
{
    int64_t n_experts = sundog_contract_get_parameter(contract, "n_experts");
    return binary(contract, SUNDOG_EXPRESSION_ADD, count_tiles(contract, choices),
                  binary(contract, SUNDOG_EXPRESSION_MIN, choices, constant(contract, n_experts)));
}

bool
sundog_contract_find_dimension(SundogContract *contract, const char *word,
                               SundogExpression *dimension)
{
    static const struct {
        const char *name;
        SundogExpression (*count)(SundogContract *, SundogExpression);
    } functions[] = {{"tiles", count_tiles}, {"entries", count_entries}, {"rows", count_rows}};
    for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
        if (!g_str_has_prefix(word, functions[i].name) || word[strlen(functions[i].name)] != '(')
            continue;
        if (!find_inner(contract, word, functions[i].name, dimension))
            return false;
        *dimension = functions[i].count(contract, *dimension);
        return true;
    }
    return find_sum(contract, word, dimension);
}

const char *
sundog_contract_get_text(SundogOperationKind kind, uint32_t argument)
{
    g_assert(argument < sundog_operation_n_arguments(kind));
    return contracts[kind][argument];
}

bool
sundog_operation_takes_matrix(SundogOperationKind kind, uint32_t argument)
{
    return g_str_has_prefix(sundog_contract_get_text(kind, argument), "matrix ");
}

bool
sundog_layout_is_quantized(SundogLayout layout)
{
    if (layout == SUNDOG_LAYOUT_PANEL16_F8 || layout == SUNDOG_LAYOUT_TILE16_F8)
        return false;
    switch (layout) {
#define X(name, number, values, text) \
    case SUNDOG_LAYOUT_##name:        \
        return values > 1;
        SUNDOG_LAYOUTS(X)
#undef X
    }
    return false;
}
