/*
 * Rules that may be empty are found by going over all edges until nothing changes; then each rule's
 * states that are reached without taking a byte tell which rules it begins by calling.
 */

#include "engine/text/constraint/automaton-check.h"

#include "engine/text/constraint/automaton-builder.h"

typedef enum { UNSEEN, OPEN, DONE } Mark;

typedef struct {
    const SundogAutomaton *automaton;
    bool *empties; /* [n_states] an accepting state is reached without a byte */
    Mark *marks;   /* [n_states] of rules */
} Check;

/* Whether the edge may be gone along without taking a byte. */
static bool
is_passable(const Check *check, const SundogAutomatonEdge *edge)
{
    switch ((SundogAutomatonEdgeKind)edge->kind) {
    case SUNDOG_AUTOMATON_EMPTY:
        return true;
    case SUNDOG_AUTOMATON_CALL:
        return check->empties[edge->rule];
    case SUNDOG_AUTOMATON_REPEAT:
        return edge->least == 0 || check->empties[edge->rule];
    case SUNDOG_AUTOMATON_BYTES:
        break;
    }
    return false;
}

static void
find_empties(Check *check)
{
    const SundogAutomaton *automaton = check->automaton;
    for (uint32_t i = 0; i < automaton->n_states; i++)
        check->empties[i] = automaton->accepting[i];
    for (bool changed = true; changed;) {
        changed = false;
        /* Most edges lead to later states. */
        for (uint32_t i = automaton->n_states; i-- > 0;) {
            for (uint32_t j = automaton->first_edges[i];
                 j < automaton->first_edges[i + 1] && !check->empties[i]; j++) {
                const SundogAutomatonEdge *edge = &automaton->edges[j];
                if (check->empties[edge->to] && is_passable(check, edge))
                    check->empties[i] = changed = true;
            }
        }
    }
}

static bool begins_well(Check *check, uint32_t rule, unsigned depth, GError **error);

/* All calls that states reached from the rule's first one without a byte make. */
static bool
calls_well(Check *check, uint32_t rule, unsigned depth, GError **error)
{
    const SundogAutomaton *automaton = check->automaton;
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    g_autoptr(GArray) work = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_array_append_val(work, rule);
    g_hash_table_add(seen, GUINT_TO_POINTER(rule));
    for (guint i = 0; i < work->len; i++) {
        uint32_t state = g_array_index(work, uint32_t, i);
        for (uint32_t j = automaton->first_edges[state]; j < automaton->first_edges[state + 1];
             j++) {
            const SundogAutomatonEdge *edge = &automaton->edges[j];
            bool calls =
                edge->kind == SUNDOG_AUTOMATON_CALL || edge->kind == SUNDOG_AUTOMATON_REPEAT;
            if (calls && !begins_well(check, edge->rule, depth + 1, error))
                return false;
            if (is_passable(check, edge) && g_hash_table_add(seen, GUINT_TO_POINTER(edge->to)))
                g_array_append_val(work, edge->to);
        }
    }
    return true;
}

#define MAX_DEPTH 1024

static bool
begins_well(Check *check, uint32_t rule, unsigned depth, GError **error)
{
    if (check->marks[rule] == DONE)
        return true;
    if (check->marks[rule] == OPEN) {
        g_set_error_literal(error, SUNDOG_GRAMMAR_ERROR, SUNDOG_GRAMMAR_ERROR_UNSUPPORTED,
                            "a rule begins with itself, so that it would never begin: let it begin "
                            "with something else (left recursion)");
        return false;
    }
    if (depth > MAX_DEPTH) {
        g_set_error(error, SUNDOG_GRAMMAR_ERROR, SUNDOG_GRAMMAR_ERROR_LIMIT,
                    "its rules are nested deeper than %d", MAX_DEPTH);
        return false;
    }
    check->marks[rule] = OPEN;
    bool well = calls_well(check, rule, depth, error);
    check->marks[rule] = DONE;
    return well;
}

static bool
repeats_well(const Check *check, const SundogAutomatonEdge *edge, GError **error)
{
    if (edge->kind != SUNDOG_AUTOMATON_REPEAT || edge->most == SUNDOG_AUTOMATON_UNBOUNDED ||
        !check->empties[edge->rule])
        return true;
    g_set_error(error, SUNDOG_GRAMMAR_ERROR, SUNDOG_GRAMMAR_ERROR_UNSUPPORTED,
                "what may be empty is repeated at most %u times: leave the bound or the emptiness "
                "out",
                edge->most);
    return false;
}

bool
sundog_automaton_check(const SundogAutomaton *automaton, GError **error)
{
    g_autofree bool *empties = g_new0(bool, automaton->n_states);
    g_autofree Mark *marks = g_new0(Mark, automaton->n_states);
    Check check = {automaton, empties, marks};
    find_empties(&check);
    bool well = begins_well(&check, automaton->start, 0, error);
    for (uint32_t i = 0; i < automaton->n_edges && well; i++) {
        const SundogAutomatonEdge *edge = &automaton->edges[i];
        bool calls = edge->kind == SUNDOG_AUTOMATON_CALL || edge->kind == SUNDOG_AUTOMATON_REPEAT;
        well = repeats_well(&check, edge, error) &&
               (!calls || begins_well(&check, edge->rule, 0, error));
    }
    return well;
}
