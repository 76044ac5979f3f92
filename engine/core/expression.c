/* The pool of expressions: interned nodes, saturating arithmetic, printing and the binary form. */

#include "engine/core/expression.h"

#include "engine/format/error.h"

#include <string.h>

/* Left and right are 0 in constants and variables, value is 0 in all others, so that equal nodes are
 * equal bytes. */
typedef struct {
    int64_t value; /* of a constant, or a SundogVariable */
    uint32_t kind; /* SundogExpressionKind */
    SundogExpression left;
    SundogExpression right;
    uint32_t n_nodes; /* when written out as a tree */
} Node;

struct SundogExpressionPool {
    GArray *nodes;     /* of Node; an operand stands before its user */
    GHashTable *index; /* Node, owned, to its index + 1 */
};

static guint
node_hash(gconstpointer key)
{
    const Node *node = key;
    uint64_t mixed = (uint64_t)node->value * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ node->kind) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ node->left) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ node->right) * 0x9e3779b97f4a7c15u;
    return (guint)(mixed >> 32);
}

static gboolean
node_equal(gconstpointer left, gconstpointer right)
{
    return memcmp(left, right, sizeof(Node)) == 0;
}

static const Node *
get_node(const SundogExpressionPool *pool, SundogExpression expression)
{
    g_assert(expression < pool->nodes->len);
    return &g_array_index(pool->nodes, Node, expression);
}

/* Sets `found` where the node was there before. */
static SundogExpression
intern(SundogExpressionPool *pool, Node node, bool *found)
{
    gpointer known = g_hash_table_lookup(pool->index, &node);
    *found = known != NULL;
    if (known != NULL)
        return GPOINTER_TO_UINT(known) - 1;
    g_array_append_val(pool->nodes, node);
    g_hash_table_insert(pool->index, g_memdup2(&node, sizeof(node)),
                        GUINT_TO_POINTER(pool->nodes->len));
    return pool->nodes->len - 1;
}

static SundogExpression
add_node(SundogExpressionPool *pool, Node node)
{
    bool found;
    return intern(pool, node, &found);
}

static int64_t
saturating_add(int64_t left, int64_t right)
{
    int64_t sum;
    return __builtin_add_overflow(left, right, &sum) ? INT64_MAX : sum;
}

static int64_t
saturating_mul(int64_t left, int64_t right)
{
    int64_t product;
    return __builtin_mul_overflow(left, right, &product) ? INT64_MAX : product;
}

/* Operands are at least 0 and a divisor at least 1: constants are checked when they enter a pool, and
 * negative values of variables are taken as 0. */
static int64_t
apply(SundogExpressionKind kind, int64_t left, int64_t right)
{
    switch (kind) {
    case SUNDOG_EXPRESSION_ADD:
        return saturating_add(left, right);
    case SUNDOG_EXPRESSION_MUL:
        return saturating_mul(left, right);
    case SUNDOG_EXPRESSION_CEIL_DIV:
        return left / right + (left % right != 0);
    case SUNDOG_EXPRESSION_MIN:
        return MIN(left, right);
    case SUNDOG_EXPRESSION_MAX:
        return MAX(left, right);
    case SUNDOG_EXPRESSION_CONSTANT:
    case SUNDOG_EXPRESSION_VARIABLE:
        break;
    }
    g_assert_not_reached();
}

static bool
is_constant(const SundogExpressionPool *pool, SundogExpression expression)
{
    return get_node(pool, expression)->kind == SUNDOG_EXPRESSION_CONSTANT;
}

SundogExpressionPool *
sundog_expression_pool_new(void)
{
    SundogExpressionPool *pool = g_new0(SundogExpressionPool, 1);
    pool->nodes = g_array_new(FALSE, FALSE, sizeof(Node));
    pool->index = g_hash_table_new_full(node_hash, node_equal, g_free, NULL);
    return pool;
}

SundogExpressionPool *
sundog_expression_pool_copy(const SundogExpressionPool *pool)
{
    SundogExpressionPool *copy = sundog_expression_pool_new();
    for (uint32_t i = 0; i < pool->nodes->len; i++)
        add_node(copy, *get_node(pool, i));
    return copy;
}

void
sundog_expression_pool_free(SundogExpressionPool *pool)
{
    if (pool == NULL)
        return;
    g_array_unref(pool->nodes);
    g_hash_table_unref(pool->index);
    g_free(pool);
}

SundogExpression
sundog_expression_constant(SundogExpressionPool *pool, int64_t value)
{
    g_assert(value >= 0);
    return add_node(pool, (Node){.kind = SUNDOG_EXPRESSION_CONSTANT, .value = value, .n_nodes = 1});
}

SundogExpression
sundog_expression_variable(SundogExpressionPool *pool, SundogVariable variable)
{
    g_assert(variable < SUNDOG_N_VARIABLES);
    return add_node(pool,
                    (Node){.kind = SUNDOG_EXPRESSION_VARIABLE, .value = variable, .n_nodes = 1});
}

SundogExpression
sundog_expression_binary(SundogExpressionPool *pool, SundogExpressionKind kind,
                         SundogExpression left, SundogExpression right)
{
    g_assert(kind >= SUNDOG_EXPRESSION_ADD && kind <= SUNDOG_EXPRESSION_MAX);
    const Node a = *get_node(pool, left);
    const Node b = *get_node(pool, right);
    bool divides = kind == SUNDOG_EXPRESSION_CEIL_DIV;
    g_assert(!divides || (b.kind == SUNDOG_EXPRESSION_CONSTANT && b.value > 0));
    if (is_constant(pool, left) && is_constant(pool, right))
        return sundog_expression_constant(pool, apply(kind, a.value, b.value));
    if (!divides && is_constant(pool, left))
        return sundog_expression_binary(pool, kind, right, left);
    if (kind == SUNDOG_EXPRESSION_MUL && is_constant(pool, right) && b.value == 1)
        return left;
    uint32_t n_nodes = a.n_nodes + b.n_nodes + 1;
    /* A check joins a few expressions that were read, each at its limit. */
    g_assert(n_nodes <= 8 * SUNDOG_EXPRESSION_MAX_NODES);
    return add_node(pool, (Node){.kind = kind, .left = left, .right = right, .n_nodes = n_nodes});
}

bool
sundog_expression_get_constant(const SundogExpressionPool *pool, SundogExpression expression,
                               int64_t *value)
{
    const Node *node = get_node(pool, expression);
    *value = node->kind == SUNDOG_EXPRESSION_CONSTANT ? node->value : 0;
    return node->kind == SUNDOG_EXPRESSION_CONSTANT;
}

int64_t
sundog_expression_evaluate(const SundogExpressionPool *pool, SundogExpression expression,
                           const SundogShape *shape)
{
    const Node *node = get_node(pool, expression);
    if (node->kind == SUNDOG_EXPRESSION_CONSTANT)
        return node->value;
    if (node->kind == SUNDOG_EXPRESSION_VARIABLE)
        return MAX(shape->values[node->value], 0);
    return apply(node->kind, sundog_expression_evaluate(pool, node->left, shape),
                 sundog_expression_evaluate(pool, node->right, shape));
}

/* `tight` asks for parentheses around a sum, which its user would otherwise tear apart. */
static void
print_node(const SundogExpressionPool *pool, SundogExpression expression, bool tight, GString *text)
{
    static const char *const names[] = {[SUNDOG_EXPRESSION_CEIL_DIV] = "ceil_div",
                                        [SUNDOG_EXPRESSION_MIN] = "min",
                                        [SUNDOG_EXPRESSION_MAX] = "max"};
    const Node *node = get_node(pool, expression);
    if (node->kind == SUNDOG_EXPRESSION_CONSTANT) {
        g_string_append_printf(text, "%" G_GINT64_FORMAT, node->value);
    } else if (node->kind == SUNDOG_EXPRESSION_VARIABLE) {
        g_string_append(text, sundog_variable_name((SundogVariable)node->value));
    } else if (node->kind == SUNDOG_EXPRESSION_ADD || node->kind == SUNDOG_EXPRESSION_MUL) {
        bool product = node->kind == SUNDOG_EXPRESSION_MUL;
        bool parentheses = tight && !product;
        g_string_append(text, parentheses ? "(" : "");
        print_node(pool, node->left, product, text);
        g_string_append(text, product ? " * " : " + ");
        print_node(pool, node->right, product, text);
        g_string_append(text, parentheses ? ")" : "");
    } else {
        g_string_append_printf(text, "%s(", names[node->kind]);
        print_node(pool, node->left, false, text);
        g_string_append(text, ", ");
        print_node(pool, node->right, false, text);
        g_string_append_c(text, ')');
    }
}

char *
sundog_expression_print(const SundogExpressionPool *pool, SundogExpression expression)
{
    GString *text = g_string_new(NULL);
    print_node(pool, expression, false, text);
    return g_string_free(text, FALSE);
}

uint32_t
sundog_expression_pool_get_n(const SundogExpressionPool *pool)
{
    return pool->nodes->len;
}

/*
 * The binary form of a pool: a u64 count, then for each node a u8 kind and
 *   constant   u64 value, below 2^63
 *   variable   string, its name
 *   others     u32 left, u32 right, each the index of an earlier node
 * No two nodes are equal. Variables are named, not numbered, so that their list may grow.
 */
void
sundog_expression_pool_write(const SundogExpressionPool *pool, SundogWriter *writer)
{
    sundog_writer_u64(writer, pool->nodes->len);
    for (uint32_t i = 0; i < pool->nodes->len; i++) {
        const Node *node = get_node(pool, i);
        sundog_writer_u8(writer, (uint8_t)node->kind);
        if (node->kind == SUNDOG_EXPRESSION_CONSTANT) {
            sundog_writer_u64(writer, (uint64_t)node->value);
        } else if (node->kind == SUNDOG_EXPRESSION_VARIABLE) {
            sundog_writer_string(writer, sundog_variable_name((SundogVariable)node->value));
        } else {
            sundog_writer_u32(writer, node->left);
            sundog_writer_u32(writer, node->right);
        }
    }
}

static Node
read_constant(SundogReader *reader)
{
    uint64_t value = sundog_reader_u64(reader);
    if (value > INT64_MAX)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "a constant of %" G_GUINT64_FORMAT " is too large", value);
    return (Node){.kind = SUNDOG_EXPRESSION_CONSTANT, .value = (int64_t)value, .n_nodes = 1};
}

static Node
read_variable(SundogReader *reader)
{
    g_autofree char *name = sundog_reader_dup_string(reader);
    SundogVariable variable = name != NULL ? sundog_variable_find(name) : SUNDOG_N_VARIABLES;
    if (name != NULL && variable == SUNDOG_N_VARIABLES)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "the variable \"%s\" is not known here", name);
    return (Node){.kind = SUNDOG_EXPRESSION_VARIABLE, .value = variable, .n_nodes = 1};
}

static Node
read_binary(SundogReader *reader, const SundogExpressionPool *pool, uint32_t kind)
{
    Node node = {.kind = kind};
    node.left = sundog_reader_u32(reader);
    node.right = sundog_reader_u32(reader);
    if (!sundog_reader_ok(reader))
        return node;
    if (node.left >= pool->nodes->len || node.right >= pool->nodes->len) {
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "expression %u uses one that does not stand before it",
                           pool->nodes->len);
        return node;
    }
    const Node *right = get_node(pool, node.right);
    if (kind == SUNDOG_EXPRESSION_CEIL_DIV &&
        (right->kind != SUNDOG_EXPRESSION_CONSTANT || right->value == 0))
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "expression %u does not divide by a constant above 0", pool->nodes->len);
    node.n_nodes = get_node(pool, node.left)->n_nodes + right->n_nodes + 1;
    if (node.n_nodes > SUNDOG_EXPRESSION_MAX_NODES)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "expression %u has %u parts, more than %d", pool->nodes->len,
                           node.n_nodes, SUNDOG_EXPRESSION_MAX_NODES);
    return node;
}

static void
read_node(SundogReader *reader, SundogExpressionPool *pool)
{
    uint8_t kind = sundog_reader_u8(reader);
    Node node = {0};
    bool found = false;
    if (kind == SUNDOG_EXPRESSION_CONSTANT)
        node = read_constant(reader);
    else if (kind == SUNDOG_EXPRESSION_VARIABLE)
        node = read_variable(reader);
    else if (kind >= SUNDOG_EXPRESSION_ADD && kind <= SUNDOG_EXPRESSION_MAX)
        node = read_binary(reader, pool, kind);
    else
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "the kind of expression %u is not known here", kind);
    if (sundog_reader_ok(reader))
        intern(pool, node, &found);
    if (found)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "an expression stands there twice");
}

SundogExpressionPool *
sundog_expression_pool_read(SundogReader *reader)
{
    g_autoptr(SundogExpressionPool) pool = sundog_expression_pool_new();
    uint64_t n = sundog_reader_count(reader, 9);
    for (uint64_t i = 0; i < n && sundog_reader_ok(reader); i++)
        read_node(reader, pool);
    return sundog_reader_ok(reader) ? g_steal_pointer(&pool) : NULL;
}

const char *
sundog_variable_name(SundogVariable variable)
{
    static const char *const names[SUNDOG_N_VARIABLES] = {
#define X(name, text) [SUNDOG_VARIABLE_##name] = text,
        SUNDOG_VARIABLES(X)
#undef X
    };
    return variable < SUNDOG_N_VARIABLES ? names[variable] : "unknown";
}

SundogVariable
sundog_variable_find(const char *name)
{
    int variable = 0;
    while (variable < SUNDOG_N_VARIABLES &&
           strcmp(sundog_variable_name((SundogVariable)variable), name) != 0)
        variable++;
    return (SundogVariable)variable;
}
