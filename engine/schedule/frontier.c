/* Frontiers by content, and the closure that makes them. */

#include "engine/schedule/frontier.h"
#include <stdlib.h>
#include <string.h>

/* Places that one closure may visit, and all closures of one piece of work; a tenth of a second. */
#define MAX_VISITED 8192
#define MAX_WORK (1u << 20)
#define MAX_FRONTIERS (1u << 17)

/* A place on the way, in a repetition with so many runs done. */
typedef struct {
    uint32_t state;
    uint32_t count;
    uint32_t frame;
} Visit;

struct SundogFrontiers {
    const SundogAutomaton *automaton;
    bool *takes_bytes; /* [n_states] */
    bool *is_tail;     /* [n_states] nothing follows but the end of the rule */
    GArray *frames;    /* of SundogFrame; the first is none */
    GHashTable *frame_numbers;
    GPtrArray *frontiers; /* of SundogFrontier, owned; the first two are unknown and dead */
    GHashTable *numbers;  /* SundogFrontier -> its number */
    GArray *visits;       /* of Visit: the closure's work and what it has seen */
    uint32_t *slots;      /* hash table of visits: index + 1 */
    uint32_t n_slots;     /* a power of two */
    GArray *places;       /* of the frontier being made */
    bool accepting;
    size_t n_bytes;
    uint64_t n_work;
    bool exhausted;
};

/* Hashes */

static uint32_t
mix(uint32_t hash, uint32_t value)
{
    hash ^= value;
    hash *= 0x9E3779B1u;
    return hash ^ hash >> 15;
}

static guint
hash_frame(gconstpointer data)
{
    const SundogFrame *frame = data;
    return mix(mix(mix(0, frame->state), frame->count), frame->parent);
}

static gboolean
equal_frames(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(SundogFrame)) == 0;
}

static guint
hash_frontier(gconstpointer data)
{
    const SundogFrontier *frontier = data;
    uint32_t hash = frontier->accepting;
    for (uint32_t i = 0; i < frontier->n_places; i++)
        hash = mix(mix(hash, frontier->places[i].state), frontier->places[i].frame);
    return hash;
}

static gboolean
equal_frontiers(gconstpointer a, gconstpointer b)
{
    const SundogFrontier *left = a, *right = b;
    return left->n_places == right->n_places && left->accepting == right->accepting &&
           (left->n_places == 0 ||
            memcmp(left->places, right->places, left->n_places * sizeof *left->places) == 0);
}

/* Making */

static void
free_frontier(gpointer data)
{
    SundogFrontier *frontier = data;
    g_free(frontier->places);
    g_free(frontier->next);
    g_free(frontier->mask);
    g_free(frontier->short_mask);
    g_free(frontier);
}

/* States from which only empty edges lead to where the rule ends. */
static bool
find_tail(const SundogAutomaton *automaton, uint32_t state, unsigned depth)
{
    uint32_t first = automaton->first_edges[state], end = automaton->first_edges[state + 1];
    if (first == end)
        return automaton->accepting[state];
    return !automaton->accepting[state] && end == first + 1 && depth < 8 &&
           automaton->edges[first].kind == SUNDOG_AUTOMATON_EMPTY &&
           find_tail(automaton, automaton->edges[first].to, depth + 1);
}

static void
classify_states(SundogFrontiers *frontiers)
{
    const SundogAutomaton *automaton = frontiers->automaton;
    for (uint32_t i = 0; i < automaton->n_states; i++) {
        frontiers->is_tail[i] = find_tail(automaton, i, 0);
        for (uint32_t j = automaton->first_edges[i]; j < automaton->first_edges[i + 1]; j++)
            frontiers->takes_bytes[i] |= automaton->edges[j].kind == SUNDOG_AUTOMATON_BYTES;
    }
}

void
sundog_frontiers_reset(SundogFrontiers *frontiers)
{
    SundogFrame none = {0};
    g_hash_table_remove_all(frontiers->frame_numbers);
    g_hash_table_remove_all(frontiers->numbers);
    g_array_set_size(frontiers->frames, 0);
    g_array_append_val(frontiers->frames, none);
    g_ptr_array_set_size(frontiers->frontiers, 0);
    g_ptr_array_add(frontiers->frontiers, g_new0(SundogFrontier, 1));
    g_ptr_array_add(frontiers->frontiers, g_new0(SundogFrontier, 1));
    g_hash_table_insert(frontiers->numbers, frontiers->frontiers->pdata[SUNDOG_FRONTIER_DEAD],
                        GUINT_TO_POINTER(SUNDOG_FRONTIER_DEAD));
    frontiers->n_bytes = frontiers->n_work = 0;
    frontiers->exhausted = false;
}

SundogFrontiers *
sundog_frontiers_new(const SundogAutomaton *automaton)
{
    SundogFrontiers *frontiers = g_new0(SundogFrontiers, 1);
    frontiers->automaton = automaton;
    frontiers->takes_bytes = g_new0(bool, automaton->n_states);
    frontiers->is_tail = g_new0(bool, automaton->n_states);
    frontiers->frames = g_array_new(FALSE, FALSE, sizeof(SundogFrame));
    frontiers->frame_numbers = g_hash_table_new_full(hash_frame, equal_frames, g_free, NULL);
    frontiers->frontiers = g_ptr_array_new_with_free_func(free_frontier);
    frontiers->numbers = g_hash_table_new(hash_frontier, equal_frontiers);
    frontiers->visits = g_array_new(FALSE, FALSE, sizeof(Visit));
    frontiers->places = g_array_new(FALSE, FALSE, sizeof(SundogPlace));
    frontiers->n_slots = 64;
    frontiers->slots = g_new0(uint32_t, frontiers->n_slots);
    classify_states(frontiers);
    sundog_frontiers_reset(frontiers);
    return frontiers;
}

void
sundog_frontiers_free(SundogFrontiers *frontiers)
{
    if (frontiers) {
        g_hash_table_unref(frontiers->numbers);
        g_hash_table_unref(frontiers->frame_numbers);
        g_ptr_array_unref(frontiers->frontiers);
        g_array_unref(frontiers->frames);
        g_array_unref(frontiers->visits);
        g_array_unref(frontiers->places);
        g_free(frontiers->slots);
        g_free(frontiers->takes_bytes);
        g_free(frontiers->is_tail);
        g_free(frontiers);
    }
}

SundogFrontier *
sundog_frontiers_get(SundogFrontiers *frontiers, uint32_t number)
{
    return frontiers->frontiers->pdata[number];
}

const SundogFrame *
sundog_frontiers_get_frame(SundogFrontiers *frontiers, uint32_t frame)
{
    return &g_array_index(frontiers->frames, SundogFrame, frame);
}

uint32_t
sundog_frontiers_find_frame(SundogFrontiers *frontiers, SundogFrame frame)
{
    uint32_t number = GPOINTER_TO_UINT(g_hash_table_lookup(frontiers->frame_numbers, &frame));
    if (number == 0) {
        number = frontiers->frames->len;
        g_array_append_val(frontiers->frames, frame);
        g_hash_table_insert(frontiers->frame_numbers, g_memdup2(&frame, sizeof frame),
                            GUINT_TO_POINTER(number));
        frontiers->n_bytes += 4 * sizeof frame;
    }
    return number;
}

/* Closure */

static void
grow_slots(SundogFrontiers *frontiers)
{
    g_free(frontiers->slots);
    frontiers->n_slots *= 2;
    frontiers->slots = g_new0(uint32_t, frontiers->n_slots);
    for (guint i = 0; i < frontiers->visits->len; i++) {
        const Visit *visit = &g_array_index(frontiers->visits, Visit, i);
        uint32_t slot = mix(mix(mix(0, visit->state), visit->count), visit->frame);
        for (slot &= frontiers->n_slots - 1; frontiers->slots[slot] != 0;)
            slot = (slot + 1) & (frontiers->n_slots - 1);
        frontiers->slots[slot] = i + 1;
    }
}

/* Puts a place on the list of work, unless it was there. */
static void
visit(SundogFrontiers *frontiers, uint32_t state, uint32_t count, uint32_t frame)
{
    Visit wanted = {state, count, frame};
    uint32_t slot = mix(mix(mix(0, state), count), frame) & (frontiers->n_slots - 1);
    for (; frontiers->slots[slot] != 0; slot = (slot + 1) & (frontiers->n_slots - 1)) {
        const Visit *known = &g_array_index(frontiers->visits, Visit, frontiers->slots[slot] - 1);
        if (memcmp(known, &wanted, sizeof wanted) == 0)
            return;
    }
    if (frontiers->visits->len >= MAX_VISITED) {
        frontiers->exhausted = true;
        return;
    }
    g_array_append_val(frontiers->visits, wanted);
    frontiers->slots[slot] = frontiers->visits->len;
    if (frontiers->visits->len * 2 > frontiers->n_slots)
        grow_slots(frontiers);
}

static void
follow_repeat(SundogFrontiers *frontiers, const SundogAutomatonEdge *edge, const Visit *from)
{
    bool open = edge->most == SUNDOG_AUTOMATON_UNBOUNDED;
    if (open || from->count < edge->most) {
        /* Without an upper bound, runs past the least are all alike. */
        uint32_t count = open ? MIN(from->count + 1, edge->least) : from->count + 1;
        SundogFrame frame = {from->state, count, from->frame};
        visit(frontiers, edge->rule, 0, sundog_frontiers_find_frame(frontiers, frame));
    }
    if (from->count >= edge->least)
        visit(frontiers, edge->to, 0, from->frame);
}

/* A call as a rule's last deed returns to where the rule itself returns: so recursion at the end of a
 * rule does not grow. */
static void
follow_call(SundogFrontiers *frontiers, const SundogAutomatonEdge *edge, const Visit *from)
{
    uint32_t frame = from->frame;
    if (!frontiers->is_tail[edge->to])
        frame = sundog_frontiers_find_frame(frontiers, (SundogFrame){edge->to, 0, from->frame});
    visit(frontiers, edge->rule, 0, frame);
}

static void
follow_edges(SundogFrontiers *frontiers, const Visit *from)
{
    const SundogAutomaton *automaton = frontiers->automaton;
    uint32_t end = automaton->first_edges[from->state + 1];
    for (uint32_t i = automaton->first_edges[from->state]; i < end; i++) {
        const SundogAutomatonEdge *edge = &automaton->edges[i];
        if (edge->kind == SUNDOG_AUTOMATON_EMPTY)
            visit(frontiers, edge->to, 0, from->frame);
        else if (edge->kind == SUNDOG_AUTOMATON_CALL)
            follow_call(frontiers, edge, from);
        else if (edge->kind == SUNDOG_AUTOMATON_REPEAT)
            follow_repeat(frontiers, edge, from);
    }
}

static void
close_visits(SundogFrontiers *frontiers)
{
    const SundogAutomaton *automaton = frontiers->automaton;
    for (guint i = 0; i < frontiers->visits->len; i++) {
        Visit from = g_array_index(frontiers->visits, Visit, i);
        if (automaton->accepting[from.state]) {
            if (from.frame == SUNDOG_FRAME_NONE) {
                frontiers->accepting = true;
            } else {
                SundogFrame frame = *sundog_frontiers_get_frame(frontiers, from.frame);
                visit(frontiers, frame.state, frame.count, frame.parent);
            }
        }
        if (frontiers->takes_bytes[from.state]) {
            SundogPlace place = {from.state, from.frame};
            g_array_append_val(frontiers->places, place);
        }
        follow_edges(frontiers, &from);
    }
    frontiers->n_work += frontiers->visits->len;
    frontiers->exhausted |=
        frontiers->n_work > MAX_WORK || frontiers->frontiers->len > MAX_FRONTIERS;
}

static void
begin_closure(SundogFrontiers *frontiers)
{
    memset(frontiers->slots, 0, frontiers->n_slots * sizeof *frontiers->slots);
    g_array_set_size(frontiers->visits, 0);
    g_array_set_size(frontiers->places, 0);
    frontiers->accepting = false;
}

static int
compare_places(const void *a, const void *b)
{
    const SundogPlace *left = a, *right = b;
    if (left->state != right->state)
        return left->state < right->state ? -1 : 1;
    return left->frame < right->frame ? -1 : left->frame > right->frame;
}

uint32_t
sundog_frontiers_find_places(SundogFrontiers *frontiers, SundogPlace *places, uint32_t n_places,
                             bool accepting)
{
    if (n_places > 1)
        qsort(places, n_places, sizeof *places, compare_places);
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < n_places; i++)
        if (n_kept == 0 || compare_places(&places[n_kept - 1], &places[i]) != 0)
            places[n_kept++] = places[i];
    SundogFrontier wanted = {.places = places, .n_places = n_kept, .accepting = accepting};
    uint32_t number = GPOINTER_TO_UINT(g_hash_table_lookup(frontiers->numbers, &wanted));
    if (number == 0) {
        SundogFrontier *made = g_new0(SundogFrontier, 1);
        made->places = g_memdup2(places, n_kept * sizeof *places);
        made->n_places = n_kept;
        made->accepting = accepting;
        number = frontiers->frontiers->len;
        g_ptr_array_add(frontiers->frontiers, made);
        g_hash_table_insert(frontiers->numbers, made, GUINT_TO_POINTER(number));
        frontiers->n_bytes += sizeof *made + n_kept * sizeof *places;
    }
    return number;
}

static uint32_t
end_closure(SundogFrontiers *frontiers)
{
    close_visits(frontiers);
    return sundog_frontiers_find_places(frontiers, (SundogPlace *)(void *)frontiers->places->data,
                                        frontiers->places->len, frontiers->accepting);
}

uint32_t
sundog_frontiers_find(SundogFrontiers *frontiers, uint32_t state, uint32_t count, uint32_t frame)
{
    begin_closure(frontiers);
    visit(frontiers, state, count, frame);
    return end_closure(frontiers);
}

static uint32_t
make_step(SundogFrontiers *frontiers, const SundogFrontier *from, uint8_t byte)
{
    const SundogAutomaton *automaton = frontiers->automaton;
    begin_closure(frontiers);
    for (uint32_t i = 0; i < from->n_places; i++) {
        const SundogPlace *place = &from->places[i];
        uint32_t end = automaton->first_edges[place->state + 1];
        for (uint32_t j = automaton->first_edges[place->state]; j < end; j++) {
            const SundogAutomatonEdge *edge = &automaton->edges[j];
            if (edge->kind == SUNDOG_AUTOMATON_BYTES && edge->low <= byte && byte <= edge->high)
                visit(frontiers, edge->to, 0, place->frame);
        }
    }
    return frontiers->visits->len > 0 ? end_closure(frontiers) : SUNDOG_FRONTIER_DEAD;
}

uint32_t
sundog_frontiers_step(SundogFrontiers *frontiers, uint32_t number, uint8_t byte)
{
    SundogFrontier *from = frontiers->frontiers->pdata[number];
    if (!from->next) {
        from->next = g_new0(uint32_t, 256);
        frontiers->n_bytes += 256 * sizeof *from->next;
    }
    if (from->next[byte] == 0) {
        from->next[byte] =
            frontiers->exhausted ? SUNDOG_FRONTIER_DEAD : make_step(frontiers, from, byte);
    }
    return from->next[byte];
}

void
sundog_frontiers_begin(SundogFrontiers *frontiers)
{
    frontiers->n_work = 0;
}

bool
sundog_frontiers_is_exhausted(const SundogFrontiers *frontiers)
{
    return frontiers->exhausted;
}

size_t
sundog_frontiers_get_bytes(const SundogFrontiers *frontiers)
{
    return frontiers->n_bytes;
}
