/*
 * A mask is the union over a frontier's places. A place's part is what its rule allows by itself (a
 * walk of the trie with nobody to return to, once a state), and, from the nodes where the rule may end,
 * what comes behind it in this place.
 *
 * Counted repetitions would make each place new for a while; but no short token has more than so many
 * bytes, so for them counts that are further than that from both bounds are alike (`clamp`). Long tokens
 * are few, and looked at in the place itself.
 */

#include "engine/schedule/matcher.h"
#include "engine/schedule/frontier.h"
#include <string.h>

/* What one matcher keeps before it forgets everything. */
#define MAX_FRONTIER_BYTES (48u << 20)
#define MAX_MASK_BYTES (16u << 20)

/* What a state's rule allows from there on by itself. */
typedef struct {
    uint32_t *tokens; /* [n_tokens], or NULL where there are so many that they are in `bits` */
    uint32_t n_tokens;
    uint64_t *bits;
    uint32_t *exits; /* [n_exits] nodes of the trie behind which the rule may have ended */
    uint32_t n_exits;
} Part;

struct SundogMatcher {
    int n_references;
    SundogAutomaton *automaton;
    const SundogMaskTrie *trie;
    SundogFrontiers *frontiers;
    uint64_t generation;
    size_t n_words;                    /* of a mask */
    size_t n_mask_bytes;               /* of all masks and parts */
    Part **parts[SUNDOG_N_MASK_WALKS]; /* [n_states] */
    uint32_t *path;                    /* [depth of the deepest node + 2] frontiers of a walk */
    GHashTable *returns;               /* frame -> frontier behind its return */
    GHashTable *clamped;               /* frame -> frame */
    GArray *found;                     /* uint32_t: tokens of a walk */
    GArray *exits;                     /* uint32_t */
};

SundogMatcher *
sundog_matcher_new(SundogAutomaton *automaton, const SundogMaskTrie *trie)
{
    SundogMatcher *matcher = g_new0(SundogMatcher, 1);
    matcher->n_references = 1;
    matcher->automaton = automaton;
    matcher->trie = trie;
    matcher->frontiers = sundog_frontiers_new(automaton);
    matcher->generation = 1;
    matcher->n_words = SUNDOG_MASK_WORDS(trie->n_tokens);
    uint16_t depth = 0;
    for (int i = 0; i < SUNDOG_N_MASK_WALKS; i++) {
        matcher->parts[i] = g_new0(Part *, automaton->n_states);
        depth = MAX(depth, trie->walks[i].depth);
    }
    matcher->path = g_new0(uint32_t, (size_t)depth + 2);
    matcher->returns = g_hash_table_new(NULL, NULL);
    matcher->clamped = g_hash_table_new(NULL, NULL);
    matcher->found = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    matcher->exits = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    return matcher;
}

SundogMatcher *
sundog_matcher_ref(SundogMatcher *matcher)
{
    matcher->n_references++;
    return matcher;
}

static void
free_part(Part *part)
{
    if (part) {
        g_free(part->tokens);
        g_free(part->bits);
        g_free(part->exits);
        g_free(part);
    }
}

static void
forget_parts(SundogMatcher *matcher)
{
    for (int walk = 0; walk < SUNDOG_N_MASK_WALKS; walk++)
        for (uint32_t i = 0; i < matcher->automaton->n_states; i++)
            free_part(g_steal_pointer(&matcher->parts[walk][i]));
}

void
sundog_matcher_unref(SundogMatcher *matcher)
{
    if (!matcher || --matcher->n_references > 0)
        return;
    forget_parts(matcher);
    sundog_frontiers_free(matcher->frontiers);
    sundog_automaton_free(matcher->automaton);
    g_hash_table_unref(matcher->returns);
    g_hash_table_unref(matcher->clamped);
    g_array_unref(matcher->found);
    g_array_unref(matcher->exits);
    for (int i = 0; i < SUNDOG_N_MASK_WALKS; i++)
        g_free(matcher->parts[i]);
    g_free(matcher->path);
    g_free(matcher);
}

static void
forget(SundogMatcher *matcher)
{
    forget_parts(matcher);
    sundog_frontiers_reset(matcher->frontiers);
    g_hash_table_remove_all(matcher->returns);
    g_hash_table_remove_all(matcher->clamped);
    matcher->n_mask_bytes = 0;
    matcher->generation++;
}

static bool
is_full(const SundogMatcher *matcher)
{
    return matcher->n_mask_bytes > MAX_MASK_BYTES ||
           sundog_frontiers_is_exhausted(matcher->frontiers) ||
           sundog_frontiers_get_bytes(matcher->frontiers) > MAX_FRONTIER_BYTES;
}

/* Walks */

/* Notes the tokens that a frontier allows below nodes first to end, whose depth is at least `depth`. */
static void
walk(SundogMatcher *matcher, const SundogMaskNode *nodes, uint32_t frontier, uint32_t first,
     uint32_t end, uint32_t depth, bool notes_exits)
{
    uint32_t *path = matcher->path;
    path[depth - 1] = frontier;
    for (uint32_t i = first; i < end;) {
        const SundogMaskNode *node = &nodes[i];
        uint32_t next =
            sundog_frontiers_step(matcher->frontiers, path[node->depth - 1], node->byte);
        if (next == SUNDOG_FRONTIER_DEAD) {
            i = node->next;
            continue;
        }
        path[node->depth] = next;
        for (uint32_t token = node->token; token != SUNDOG_MASK_NO_TOKEN;
             token = matcher->trie->same[token])
            g_array_append_val(matcher->found, token);
        if (notes_exits && node->next > i + 1 &&
            sundog_frontiers_get(matcher->frontiers, next)->accepting)
            g_array_append_val(matcher->exits, i);
        i++;
    }
}

static void
add_tokens(uint64_t *mask, const uint32_t *tokens, uint32_t n_tokens)
{
    for (uint32_t i = 0; i < n_tokens; i++)
        mask[tokens[i] / 64] |= (uint64_t)1 << tokens[i] % 64;
}

static Part *
get_part(SundogMatcher *matcher, SundogMaskWalk of, uint32_t state)
{
    if (matcher->parts[of][state])
        return matcher->parts[of][state];
    const SundogMaskNodes *nodes = &matcher->trie->walks[of];
    Part *part = g_new0(Part, 1);
    SundogPlace place = {state, SUNDOG_FRAME_NONE};
    uint32_t frontier = sundog_frontiers_find_places(matcher->frontiers, &place, 1, false);
    g_array_set_size(matcher->found, 0);
    g_array_set_size(matcher->exits, 0);
    walk(matcher, nodes->nodes, frontier, 0, nodes->n_nodes, 1, true);
    part->n_tokens = matcher->found->len;
    part->n_exits = matcher->exits->len;
    part->exits = g_memdup2(matcher->exits->data, part->n_exits * sizeof *part->exits);
    if (part->n_tokens > 2 * matcher->n_words) {
        part->bits = g_new0(uint64_t, matcher->n_words);
        add_tokens(part->bits, (const uint32_t *)(void *)matcher->found->data, part->n_tokens);
        matcher->n_mask_bytes += matcher->n_words * sizeof *part->bits;
    } else {
        part->tokens = g_memdup2(matcher->found->data, part->n_tokens * sizeof *part->tokens);
        matcher->n_mask_bytes += part->n_tokens * sizeof *part->tokens;
    }
    matcher->n_mask_bytes += sizeof *part + part->n_exits * sizeof *part->exits;
    matcher->parts[of][state] = part;
    return part;
}

static uint32_t
get_return(SundogMatcher *matcher, uint32_t frame)
{
    gpointer key = GUINT_TO_POINTER(frame);
    uint32_t frontier = GPOINTER_TO_UINT(g_hash_table_lookup(matcher->returns, key));
    if (frontier == 0) {
        SundogFrame back = *sundog_frontiers_get_frame(matcher->frontiers, frame);
        frontier = sundog_frontiers_find(matcher->frontiers, back.state, back.count, back.parent);
        g_hash_table_insert(matcher->returns, key, GUINT_TO_POINTER(frontier));
    }
    return frontier;
}

static void
add_place(SundogMatcher *matcher, SundogMaskWalk of, SundogPlace place, uint64_t *mask)
{
    const SundogMaskNode *nodes = matcher->trie->walks[of].nodes;
    const Part *part = get_part(matcher, of, place.state);
    if (part->bits)
        for (size_t i = 0; i < matcher->n_words; i++)
            mask[i] |= part->bits[i];
    else
        add_tokens(mask, part->tokens, part->n_tokens);
    if (place.frame == SUNDOG_FRAME_NONE || part->n_exits == 0)
        return;
    uint32_t back = get_return(matcher, place.frame);
    g_array_set_size(matcher->found, 0);
    for (uint32_t i = 0; i < part->n_exits; i++) {
        uint32_t exit = part->exits[i];
        walk(matcher, nodes, back, exit + 1, nodes[exit].next, nodes[exit].depth + 1u, false);
    }
    add_tokens(mask, (const uint32_t *)(void *)matcher->found->data, matcher->found->len);
}

/* Clamping */

static uint32_t
clamp_count(const SundogMatcher *matcher, SundogFrame frame)
{
    const SundogAutomatonEdge *edge =
        &matcher->automaton->edges[matcher->automaton->first_edges[frame.state]];
    uint32_t margin = SUNDOG_MASK_SHORT_BYTES + 1, count = frame.count;
    if (count == 0 || edge->kind != SUNDOG_AUTOMATON_REPEAT)
        return count;
    if (count < edge->least) {
        /* Counts with as much before the least, and so before the most, are alike. */
        return edge->least - count > margin && edge->least > margin + 1 ? 1 : count;
    }
    if (edge->most == SUNDOG_AUTOMATON_UNBOUNDED || edge->most - count <= margin)
        return count;
    return MAX(edge->least, 1u);
}

static uint32_t
get_clamped(const SundogMatcher *matcher, uint32_t frame)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(matcher->clamped, GUINT_TO_POINTER(frame)));
}

/* From the outermost frame inwards, without recursion: an answer may nest as deep as it is long. */
static uint32_t
clamp_frame(SundogMatcher *matcher, uint32_t frame)
{
    GArray *chain = matcher->found;
    uint32_t known = SUNDOG_FRAME_NONE;
    g_array_set_size(chain, 0);
    while (frame != SUNDOG_FRAME_NONE && (known = get_clamped(matcher, frame)) == 0) {
        g_array_append_val(chain, frame);
        frame = sundog_frontiers_get_frame(matcher->frontiers, frame)->parent;
    }
    for (guint i = chain->len; i-- > 0;) {
        uint32_t next = g_array_index(chain, uint32_t, i);
        SundogFrame clamped = *sundog_frontiers_get_frame(matcher->frontiers, next);
        clamped.count = clamp_count(matcher, clamped);
        clamped.parent = known;
        known = sundog_frontiers_find_frame(matcher->frontiers, clamped);
        g_hash_table_insert(matcher->clamped, GUINT_TO_POINTER(next), GUINT_TO_POINTER(known));
    }
    return known;
}

/* The frontier that allows the same short tokens. */
static uint32_t
clamp(SundogMatcher *matcher, uint32_t number)
{
    SundogFrontier *frontier = sundog_frontiers_get(matcher->frontiers, number);
    if (frontier->clamped == 0) {
        g_autofree SundogPlace *places =
            g_memdup2(frontier->places, frontier->n_places * sizeof *places);
        for (uint32_t i = 0; i < frontier->n_places; i++)
            places[i].frame = clamp_frame(matcher, places[i].frame);
        uint32_t clamped = sundog_frontiers_find_places(matcher->frontiers, places,
                                                        frontier->n_places, frontier->accepting);
        frontier = sundog_frontiers_get(matcher->frontiers, number);
        frontier->clamped = clamped;
    }
    return frontier->clamped;
}

/* Matches */

void
sundog_match_init(SundogMatch *match, SundogMatcher *matcher)
{
    *match = (SundogMatch){.matcher = sundog_matcher_ref(matcher)};
}

void
sundog_match_clear(SundogMatch *match)
{
    g_clear_pointer(&match->matcher, sundog_matcher_unref);
}

static uint32_t
take(const SundogMatcher *matcher, uint32_t frontier, uint32_t token)
{
    uint32_t n_bytes = 0;
    const uint8_t *bytes = token < matcher->trie->n_tokens
                               ? sundog_mask_trie_get_bytes(matcher->trie, token, &n_bytes)
                               : NULL;
    if (n_bytes == 0)
        return SUNDOG_FRONTIER_DEAD;
    for (uint32_t i = 0; i < n_bytes && frontier != SUNDOG_FRONTIER_DEAD; i++)
        frontier = sundog_frontiers_step(matcher->frontiers, frontier, bytes[i]);
    return frontier;
}

bool
sundog_match_advance(SundogMatch *match, const uint32_t *tokens, uint32_t n_tokens)
{
    SundogMatcher *matcher = match->matcher;
    if (is_full(matcher))
        forget(matcher);
    sundog_frontiers_begin(matcher->frontiers);
    if (match->generation != matcher->generation || match->n_taken > n_tokens) {
        match->generation = matcher->generation;
        match->n_taken = 0;
        match->frontier = sundog_frontiers_find(matcher->frontiers, matcher->automaton->start, 0,
                                                SUNDOG_FRAME_NONE);
    }
    while (match->n_taken < n_tokens && match->frontier != SUNDOG_FRONTIER_DEAD)
        match->frontier = take(matcher, match->frontier, tokens[match->n_taken++]);
    return match->frontier != SUNDOG_FRONTIER_DEAD;
}

static void
add_places(SundogMatcher *matcher, SundogMaskWalk of, uint32_t number, uint64_t *mask)
{
    const SundogFrontier *frontier = sundog_frontiers_get(matcher->frontiers, number);
    for (uint32_t i = 0; i < frontier->n_places; i++)
        add_place(matcher, of, frontier->places[i], mask);
}

/* Short tokens, from the frontier that stands for all that are alike in them. */
static void
add_short(SundogMatcher *matcher, uint32_t number, uint64_t *mask)
{
    uint32_t clamped = clamp(matcher, number);
    if (clamped == number) {
        add_places(matcher, SUNDOG_MASK_SHORT, number, mask);
        return;
    }
    SundogFrontier *frontier = sundog_frontiers_get(matcher->frontiers, clamped);
    if (!frontier->short_mask) {
        frontier->short_mask = g_new0(uint64_t, matcher->n_words);
        matcher->n_mask_bytes += matcher->n_words * sizeof *mask;
        add_places(matcher, SUNDOG_MASK_SHORT, clamped, frontier->short_mask);
    }
    memcpy(mask, frontier->short_mask, matcher->n_words * sizeof *mask);
}

const uint64_t *
sundog_match_get_mask(SundogMatch *match)
{
    SundogMatcher *matcher = match->matcher;
    SundogFrontier *frontier = sundog_frontiers_get(matcher->frontiers, match->frontier);
    sundog_frontiers_begin(matcher->frontiers);
    if (!frontier->mask) {
        g_autofree uint64_t *mask = g_new0(uint64_t, matcher->n_words);
        add_short(matcher, match->frontier, mask);
        add_places(matcher, SUNDOG_MASK_LONG, match->frontier, mask);
        if (sundog_frontiers_is_exhausted(matcher->frontiers))
            return NULL;
        frontier->mask = g_steal_pointer(&mask);
        matcher->n_mask_bytes += matcher->n_words * sizeof *mask;
    }
    return frontier->mask;
}

size_t
sundog_match_get_n_words(const SundogMatch *match)
{
    return match->matcher->n_words;
}

bool
sundog_match_is_complete(const SundogMatch *match)
{
    const SundogFrontier *frontier =
        sundog_frontiers_get(match->matcher->frontiers, match->frontier);
    return frontier->accepting && frontier->n_places == 0;
}

bool
sundog_match_may_end(const SundogMatch *match)
{
    return sundog_frontiers_get(match->matcher->frontiers, match->frontier)->accepting;
}
