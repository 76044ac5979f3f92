/* Arrays with contains: states by the number of items and by how many of them are held to it. */

#include "engine/text/constraint/schema-private.h"

#include <string.h>

#define MAX_CONTAINED 16
#define MAX_GRID_ITEMS 256

/* States by the number of items and of those that are contained; the last one's stand for more, too: but where
 * those that are contained have an upper bound, every item is known to be one or not to be. */
typedef struct {
    uint32_t n_items;
    uint32_t n_contained;
    uint32_t least; /* of those that are contained */
    bool is_bounded;
    uint32_t *states;
} Grid;

static uint32_t *
state_of(const Grid *grid, uint32_t n_items, uint32_t n_contained)
{
    return &grid->states[MIN(n_items, grid->n_items) * (grid->n_contained + 1) +
                         MIN(n_contained, grid->n_contained)];
}

static JsonNode *
get_item(const SundogSchemaItems *items, SundogSchemaCompiler *compiler, uint32_t index)
{
    uint32_t n_places = items->places != NULL ? json_array_get_length(items->places) : 0;
    if (index < n_places)
        return json_array_get_element(items->places, index);
    return items->rest != NULL ? items->rest : compiler->any;
}

/* From all states of so many items by one more, of the schema. */
static bool
add_column(SundogSchemaCompiler *compiler, const Grid *grid, uint32_t n_items, JsonNode *schema,
           bool is_contained)
{
    SundogAutomatonBuilder *builder = compiler->builder;
    uint32_t rule = sundog_automaton_builder_add_state(builder);
    uint32_t end = sundog_schema_add_value_at(compiler, schema, "items", rule);
    if (end == SUNDOG_SCHEMA_FAILED)
        return sundog_schema_forgive(compiler);
    sundog_automaton_builder_accept(builder, end);
    for (uint32_t n = 0; n <= grid->n_contained; n++) {
        uint32_t from = *state_of(grid, n_items, n);
        bool is_full = is_contained && grid->is_bounded && n == grid->n_contained;
        if (from == SUNDOG_SCHEMA_FAILED || is_full)
            continue;
        if (n_items > 0)
            from = sundog_json_grammar_add_mark(compiler->json, from, ',');
        uint32_t *to = state_of(grid, n_items + 1, n + is_contained);
        if (*to == SUNDOG_SCHEMA_FAILED)
            *to = sundog_automaton_builder_add_state(builder);
        sundog_automaton_builder_add_empty(
            builder, sundog_automaton_builder_add_call(builder, from, rule), *to);
    }
    return true;
}

/* An item that is not held to the schema of those that are contained. */
static JsonNode *
exclude(SundogSchemaCompiler *compiler, JsonNode *item, JsonNode *contained)
{
    JsonObject *other = json_object_new();
    json_object_set_member(other, "not", json_node_ref(contained));
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    json_node_take_object(node, other);
    return sundog_schema_keep(compiler, sundog_schema_require_both(item, node));
}

static void
add_ends(SundogSchemaCompiler *compiler, const Grid *grid, uint32_t n_items, uint32_t close)
{
    for (uint32_t n = grid->least; n <= grid->n_contained; n++) {
        uint32_t end = *state_of(grid, n_items, n);
        if (end != SUNDOG_SCHEMA_FAILED)
            sundog_automaton_builder_add_empty(compiler->builder, end, close);
    }
}

static bool
add_grid(SundogSchemaCompiler *compiler, const SundogSchemaItems *items, JsonNode *contained,
         const Grid *grid, uint32_t close)
{
    uint32_t n_places = items->places != NULL ? json_array_get_length(items->places) : 0;
    bool is_open = items->most == SUNDOG_AUTOMATON_UNBOUNDED && !items->is_closed;
    for (uint32_t i = 0; i <= grid->n_items; i++) {
        bool has_more = i < grid->n_items || is_open;
        JsonNode *item = get_item(items, compiler, i);
        if (has_more && (i < n_places || !items->is_closed)) {
            JsonNode *both =
                sundog_schema_keep(compiler, sundog_schema_require_both(item, contained));
            JsonNode *others = grid->is_bounded ? exclude(compiler, item, contained) : item;
            if (!add_column(compiler, grid, i, both, true) ||
                !add_column(compiler, grid, i, others, false))
                return false;
        }
        if (i >= items->least)
            add_ends(compiler, grid, i, close);
    }
    return true;
}

bool
sundog_schema_add_containing(SundogSchemaCompiler *compiler, JsonObject *schema,
                             const SundogSchemaItems *items, uint32_t from, uint32_t close)
{
    uint32_t n_places = items->places != NULL ? json_array_get_length(items->places) : 0;
    uint32_t least, most;
    if (!sundog_schema_get_count(compiler, schema, "minContains", 1, &least) ||
        !sundog_schema_get_count(compiler, schema, "maxContains", SUNDOG_AUTOMATON_UNBOUNDED,
                                 &most))
        return false;
    if (least == 0 && most == SUNDOG_AUTOMATON_UNBOUNDED)
        return sundog_schema_add_items(compiler, items, from, close);
    if (least > most) {
        sundog_schema_contradict(compiler, "minContains", "more are needed than allowed");
        return false;
    }
    bool is_bounded = most < items->most;
    uint32_t n_contained = is_bounded ? most : least;
    uint32_t n_items = items->most != SUNDOG_AUTOMATON_UNBOUNDED ? items->most
                       : items->is_closed                        ? n_places
                                          : MAX(MAX(items->least, n_places), least);
    if (n_contained > MAX_CONTAINED || n_items > MAX_GRID_ITEMS) {
        sundog_schema_refuse(compiler, "contains", "so many items cannot be enforced beside it");
        return false;
    }
    g_autofree uint32_t *states = g_new(uint32_t, (n_items + 1) * (n_contained + 1));
    memset(states, 0xFF, (n_items + 1) * (n_contained + 1) * sizeof *states);
    Grid grid = {n_items, n_contained, least, is_bounded, states};
    states[0] = from;
    return add_grid(compiler, items, json_object_get_member(schema, "contains"), &grid, close);
}
