/* Edges in the order in which they were added, sorted by state at the end. */

#include "engine/text/constraint/automaton-builder.h"

#include "engine/text/constraint/automaton-check.h"

#include <string.h>

#define LAST_CODE_POINT 0x10FFFFu
#define FIRST_SURROGATE 0xD800u
#define LAST_SURROGATE 0xDFFFu

typedef struct {
    uint32_t from;
    SundogAutomatonEdge edge;
} Built;

struct SundogAutomatonBuilder {
    GArray *edges;         /* of Built */
    GByteArray *accepting; /* [n_states] */
};

G_DEFINE_QUARK(sundog - grammar - error - quark, sundog_grammar_error)

SundogAutomatonBuilder *
sundog_automaton_builder_new(void)
{
    SundogAutomatonBuilder *builder = g_new0(SundogAutomatonBuilder, 1);
    builder->edges = g_array_new(FALSE, FALSE, sizeof(Built));
    builder->accepting = g_byte_array_new();
    return builder;
}

void
sundog_automaton_builder_free(SundogAutomatonBuilder *builder)
{
    if (builder == NULL)
        return;
    g_array_unref(builder->edges);
    g_byte_array_unref(builder->accepting);
    g_free(builder);
}

bool
sundog_automaton_builder_is_full(const SundogAutomatonBuilder *builder)
{
    return builder->accepting->len > SUNDOG_AUTOMATON_MAX_STATES ||
           builder->edges->len > SUNDOG_AUTOMATON_MAX_EDGES;
}

/* A full builder grows no further: its last state stands for all others. */
uint32_t
sundog_automaton_builder_add_state(SundogAutomatonBuilder *builder)
{
    static const uint8_t no = 0;
    if (!sundog_automaton_builder_is_full(builder))
        g_byte_array_append(builder->accepting, &no, 1);
    return builder->accepting->len - 1;
}

void
sundog_automaton_builder_accept(SundogAutomatonBuilder *builder, uint32_t state)
{
    builder->accepting->data[state] = 1;
}

static void
add_edge(SundogAutomatonBuilder *builder, uint32_t from, SundogAutomatonEdge edge)
{
    Built built = {from, edge};
    if (!sundog_automaton_builder_is_full(builder))
        g_array_append_val(builder->edges, built);
}

void
sundog_automaton_builder_add_empty(SundogAutomatonBuilder *builder, uint32_t from, uint32_t to)
{
    add_edge(builder, from, (SundogAutomatonEdge){.kind = SUNDOG_AUTOMATON_EMPTY, .to = to});
}

void
sundog_automaton_builder_add_bytes(SundogAutomatonBuilder *builder, uint32_t from, uint8_t low,
                                   uint8_t high, uint32_t to)
{
    add_edge(
        builder, from,
        (SundogAutomatonEdge){.kind = SUNDOG_AUTOMATON_BYTES, .low = low, .high = high, .to = to});
}

uint32_t
sundog_automaton_builder_add_call(SundogAutomatonBuilder *builder, uint32_t from, uint32_t rule)
{
    uint32_t to = sundog_automaton_builder_add_state(builder);
    add_edge(builder, from,
             (SundogAutomatonEdge){.kind = SUNDOG_AUTOMATON_CALL, .to = to, .rule = rule});
    return to;
}

uint32_t
sundog_automaton_builder_add_repeat(SundogAutomatonBuilder *builder, uint32_t from, uint32_t rule,
                                    uint32_t least, uint32_t most)
{
    uint32_t counter = sundog_automaton_builder_add_state(builder);
    uint32_t to = sundog_automaton_builder_add_state(builder);
    sundog_automaton_builder_add_empty(builder, from, counter);
    add_edge(
        builder, counter,
        (SundogAutomatonEdge){
            .kind = SUNDOG_AUTOMATON_REPEAT, .to = to, .rule = rule, .least = least, .most = most});
    return to;
}

/* Characters as sequences of bytes */

/* All sequences from low to high, which have n bytes each and differ in no first byte's kind. */
static void
add_sequences(SundogAutomatonBuilder *builder, uint32_t from, const uint8_t *low,
              const uint8_t *high, int n, uint32_t to)
{
    static const uint8_t first[] = {0x80, 0x80, 0x80}, last[] = {0xBF, 0xBF, 0xBF};
    if (n == 1) {
        sundog_automaton_builder_add_bytes(builder, from, low[0], high[0], to);
        return;
    }
    size_t n_rest = (size_t)n - 1;
    unsigned begin = low[0], end = high[0];
    bool splits_low = begin < end && memcmp(low + 1, first, n_rest) != 0;
    bool splits_high = begin < end && memcmp(high + 1, last, n_rest) != 0;
    if (splits_low) {
        uint32_t state = sundog_automaton_builder_add_state(builder);
        sundog_automaton_builder_add_bytes(builder, from, low[0], low[0], state);
        add_sequences(builder, state, low + 1, last, n - 1, to);
        begin++;
    }
    if (splits_high) {
        uint32_t state = sundog_automaton_builder_add_state(builder);
        sundog_automaton_builder_add_bytes(builder, from, high[0], high[0], state);
        add_sequences(builder, state, first, high + 1, n - 1, to);
        end--;
    }
    if (begin > end)
        return;
    uint32_t state = sundog_automaton_builder_add_state(builder);
    sundog_automaton_builder_add_bytes(builder, from, (uint8_t)begin, (uint8_t)end, state);
    bool single = low[0] == high[0];
    add_sequences(builder, state, single ? low + 1 : first, single ? high + 1 : last, n - 1, to);
}

void
sundog_automaton_builder_add_characters(SundogAutomatonBuilder *builder, uint32_t from,
                                        uint32_t low, uint32_t high, uint32_t to)
{
    /* Where the number of bytes changes, and around the surrogates. */
    static const uint32_t ends[] = {0x7F, 0x7FF, FIRST_SURROGATE - 1, 0xFFFF, LAST_CODE_POINT};
    static const uint32_t begins[] = {0, 0x80, 0x800, LAST_SURROGATE + 1, 0x10000};
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        uint32_t begin = MAX(low, begins[i]), end = MIN(high, ends[i]);
        char first[6], last[6];
        if (begin > end)
            continue;
        int n = g_unichar_to_utf8(begin, first);
        g_unichar_to_utf8(end, last);
        add_sequences(builder, from, (const uint8_t *)first, (const uint8_t *)last, n, to);
    }
}

/* Texts */

uint32_t
sundog_automaton_builder_add_text(SundogAutomatonBuilder *builder, uint32_t from, const char *text,
                                  size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) {
        uint32_t to = sundog_automaton_builder_add_state(builder);
        sundog_automaton_builder_add_bytes(builder, from, (uint8_t)text[i], (uint8_t)text[i], to);
        from = to;
    }
    return from;
}

static int
compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Texts in order that agree in their first `depth` bytes, from there on. */
static void
add_sorted(SundogAutomatonBuilder *builder, uint32_t from, const char *const *texts, size_t n_texts,
           size_t depth, uint32_t to)
{
    for (size_t low = 0, high; low < n_texts; low = high) {
        char byte = texts[low][depth];
        for (high = low + 1; high < n_texts && texts[high][depth] == byte; high++)
            continue;
        if (byte == '\0') {
            sundog_automaton_builder_add_empty(builder, from, to);
        } else if (high == low + 1) {
            const char *rest = texts[low] + depth;
            uint32_t end = sundog_automaton_builder_add_text(builder, from, rest, strlen(rest));
            sundog_automaton_builder_add_empty(builder, end, to);
        } else {
            uint32_t next = sundog_automaton_builder_add_text(builder, from, &byte, 1);
            add_sorted(builder, next, texts + low, high - low, depth + 1, to);
        }
    }
}

uint32_t
sundog_automaton_builder_add_choice(SundogAutomatonBuilder *builder, uint32_t from,
                                    const char *const *texts, size_t n_texts)
{
    uint32_t to = sundog_automaton_builder_add_state(builder);
    g_autofree const char **sorted = g_memdup2(texts, n_texts * sizeof *texts);
    if (n_texts > 0)
        qsort(sorted, n_texts, sizeof *sorted, compare_texts);
    add_sorted(builder, from, sorted, n_texts, 0, to);
    return to;
}

/* Knuth, Morris and Pratt's automaton of the marker, whose state i has seen its first i bytes. Where the
 * marker has bytes of characters of several bytes, a broken character could be asked for; what a
 * tokenizer gives is whole ones, and the decoder mends the rest. */
uint32_t
sundog_automaton_builder_add_until(SundogAutomatonBuilder *builder, uint32_t from,
                                   const char *marker)
{
    size_t n = strlen(marker);
    g_autofree uint32_t *states = g_new(uint32_t, n + 1);
    g_autofree size_t *fallback = g_new0(size_t, n + 1);
    for (size_t i = 0; i <= n; i++)
        states[i] = sundog_automaton_builder_add_state(builder);
    sundog_automaton_builder_add_empty(builder, from, states[0]);
    for (size_t i = 0; i < n; i++) {
        for (unsigned byte = 0; byte < SUNDOG_AUTOMATON_CONTROL_BYTE; byte++) {
            size_t at = i;
            while (at > 0 && (uint8_t)marker[at] != byte)
                at = fallback[at];
            at += (uint8_t)marker[at] == byte;
            sundog_automaton_builder_add_bytes(builder, states[i], (uint8_t)byte, (uint8_t)byte,
                                               states[at]);
        }
        size_t at = i > 0 ? fallback[i] : 0;
        while (at > 0 && marker[at] != marker[i])
            at = fallback[at];
        fallback[i + 1] = i > 0 && marker[at] == marker[i] ? at + 1 : 0;
    }
    return states[n];
}

/* States from which the end of their rule can be reached: any other would leave a model with nothing to
 * say. Most edges lead to later states, so that going backwards takes few rounds. */
static bool *
find_productive(const SundogAutomatonBuilder *builder)
{
    bool *productive = g_new(bool, builder->accepting->len);
    for (guint i = 0; i < builder->accepting->len; i++)
        productive[i] = builder->accepting->data[i] != 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (guint i = builder->edges->len; i-- > 0;) {
            const Built *built = &g_array_index(builder->edges, Built, i);
            bool calls = built->edge.kind == SUNDOG_AUTOMATON_CALL ||
                         (built->edge.kind == SUNDOG_AUTOMATON_REPEAT && built->edge.least > 0);
            if (!productive[built->from] && productive[built->edge.to] &&
                (!calls || productive[built->edge.rule]))
                productive[built->from] = changed = true;
        }
    }
    return productive;
}

/* Leaves edges out that lead nowhere. */
static void
trim(SundogAutomatonBuilder *builder, const bool *productive)
{
    guint n_kept = 0;
    for (guint i = 0; i < builder->edges->len; i++) {
        Built built = g_array_index(builder->edges, Built, i);
        bool is_repeat = built.edge.kind == SUNDOG_AUTOMATON_REPEAT;
        bool can_call =
            (built.edge.kind != SUNDOG_AUTOMATON_CALL && !is_repeat) || productive[built.edge.rule];
        if (!productive[built.edge.to] || (!can_call && !(is_repeat && built.edge.least == 0)))
            continue;
        if (!can_call)
            built.edge = (SundogAutomatonEdge){.kind = SUNDOG_AUTOMATON_EMPTY, .to = built.edge.to};
        g_array_index(builder->edges, Built, n_kept++) = built;
    }
    g_array_set_size(builder->edges, n_kept);
}

static SundogAutomaton *
sort(const SundogAutomatonBuilder *builder, uint32_t start)
{
    uint32_t n_states = builder->accepting->len;
    SundogAutomaton *automaton = sundog_automaton_new(n_states, builder->edges->len);
    automaton->start = start;
    for (guint i = 0; i < builder->edges->len; i++)
        automaton->first_edges[g_array_index(builder->edges, Built, i).from + 1]++;
    for (uint32_t i = 0; i < n_states; i++) {
        automaton->first_edges[i + 1] += automaton->first_edges[i];
        automaton->accepting[i] = builder->accepting->data[i] != 0;
    }
    g_autofree uint32_t *next = g_memdup2(automaton->first_edges, n_states * sizeof(uint32_t));
    for (guint i = 0; i < builder->edges->len; i++) {
        const Built *built = &g_array_index(builder->edges, Built, i);
        automaton->edges[next[built->from]++] = built->edge;
    }
    return automaton;
}

SundogAutomaton *
sundog_automaton_builder_finish(SundogAutomatonBuilder *builder, uint32_t start, GError **error)
{
    if (sundog_automaton_builder_is_full(builder)) {
        g_set_error(error, SUNDOG_GRAMMAR_ERROR, SUNDOG_GRAMMAR_ERROR_LIMIT,
                    "it needs more than the %u states that a constraint may have",
                    SUNDOG_AUTOMATON_MAX_STATES);
        return NULL;
    }
    g_autofree bool *productive = find_productive(builder);
    if (!productive[start]) {
        g_set_error_literal(error, SUNDOG_GRAMMAR_ERROR, SUNDOG_GRAMMAR_ERROR_UNSUPPORTED,
                            "nothing of finite length satisfies it");
        return NULL;
    }
    trim(builder, productive);
    g_autoptr(SundogAutomaton) automaton = sort(builder, start);
    return sundog_automaton_check(automaton, error) ? g_steal_pointer(&automaton) : NULL;
}
