/* Names of pages and states, and those of them that wait to be written. */

#include "engine/cache/page-recorder.h"
#include <string.h>

/* Pages a sequence must have before it is kept. */
#define LEAST_PAGES 3

typedef struct {
    uint8_t name[SUNDOG_RECORD_HASH_BYTES];
    int32_t parent;
    uint32_t depth; /* 1 for a sequence's first page */
    bool waits;
    bool saved;
} NotedPage;

/* A slot's state that waits to be written. */
typedef struct {
    uint8_t parent[SUNDOG_RECORD_HASH_BYTES];
    bool waits;
} NotedState;

struct SundogPageRecorder {
    SundogPageRecorderOptions options;
    NotedPage *pages; /* [n_pages]; the null page is the root, all zero */
    int32_t *ring;    /* [n_pages] each page at most once */
    int32_t ring_first;
    int32_t ring_length;
    NotedState *states; /* [n_states] */
    int32_t n_waiting_states;
    uint8_t *bytes; /* of a page and its window, or of a slot */
    bool complained;
};

/* With its window. */
static size_t
count_page_bytes(const SundogPageRecorder *recorder)
{
    const size_t *n_bytes = recorder->options.state.n_bytes;
    return n_bytes[SUNDOG_STATE_PAGES] + n_bytes[SUNDOG_STATE_WINDOWS];
}

SundogPageRecorder *
sundog_page_recorder_new(const SundogPageRecorderOptions *options)
{
    SundogPageRecorder *recorder = g_new0(SundogPageRecorder, 1);
    recorder->options = *options;
    recorder->pages = g_new0(NotedPage, (size_t)options->n_pages);
    recorder->ring = g_new0(int32_t, (size_t)options->n_pages);
    recorder->states = g_new0(NotedState, (size_t)MAX(options->n_states, 1));
    recorder->bytes =
        g_malloc(MAX(count_page_bytes(recorder), options->state.n_bytes[SUNDOG_STATE_SLOTS]));
    return recorder;
}

void
sundog_page_recorder_free(SundogPageRecorder *recorder)
{
    if (recorder) {
        sundog_record_store_close(recorder->options.store);
        g_free(recorder->pages);
        g_free(recorder->ring);
        g_free(recorder->states);
        g_free(recorder->bytes);
        g_free(recorder);
    }
}

static SundogPrefixRecord
record_after(const SundogPageRecorder *recorder, int32_t parent, const uint32_t *tokens)
{
    SundogPrefixRecord record = {.tokens = tokens,
                                 .n_tokens = recorder->options.page_tokens,
                                 .n_bytes = count_page_bytes(recorder)};
    memcpy(record.key, recorder->options.key, sizeof record.key);
    memcpy(record.parent, recorder->pages[parent].name, sizeof record.parent);
    return record;
}

static void
wait_to_be_written(SundogPageRecorder *recorder, int32_t page)
{
    NotedPage *noted = &recorder->pages[page];
    if (page == SUNDOG_NULL_PAGE || noted->waits || noted->saved)
        return;
    noted->waits = true;
    int32_t end = (recorder->ring_first + recorder->ring_length++) % recorder->options.n_pages;
    recorder->ring[end] = page;
}

void
sundog_page_recorder_note(SundogPageRecorder *recorder, int32_t parent, int32_t page,
                          const uint32_t *tokens)
{
    NotedPage *noted = &recorder->pages[page];
    SundogPrefixRecord record = record_after(recorder, parent, tokens);
    uint8_t name[SUNDOG_RECORD_HASH_BYTES];
    sundog_prefix_record_get_name(&record, name);
    if (memcmp(noted->name, name, sizeof name) != 0) { /* the page held other tokens before */
        memcpy(noted->name, name, sizeof name);
        noted->saved = false;
    }
    noted->parent = parent;
    noted->depth = recorder->pages[parent].depth + 1;
    if (noted->depth == LEAST_PAGES)
        for (int32_t above = parent; above != SUNDOG_NULL_PAGE;
             above = recorder->pages[above].parent)
            wait_to_be_written(recorder, above);
    if (noted->depth >= LEAST_PAGES)
        wait_to_be_written(recorder, page);
}

bool
sundog_page_recorder_restore(SundogPageRecorder *recorder, const SundogWindowPages *windows,
                             int32_t parent, int32_t page, const uint32_t *tokens)
{
    const SundogStateAccess *state = &recorder->options.state;
    SundogPrefixRecord record = record_after(recorder, parent, tokens);
    NotedPage *noted = &recorder->pages[page];
    if (!sundog_record_store_load(recorder->options.store, &record, recorder->bytes) ||
        !state->write(SUNDOG_STATE_PAGES, page, recorder->bytes, state->data))
        return false;
    if (windows != NULL &&
        !state->write(SUNDOG_STATE_WINDOWS, sundog_window_pages_get(windows, page),
                      recorder->bytes + state->n_bytes[SUNDOG_STATE_PAGES], state->data))
        return false;
    sundog_prefix_record_get_name(&record, noted->name);
    noted->depth = recorder->pages[parent].depth + 1;
    noted->saved = true;
    return true;
}

void
sundog_page_recorder_note_state(SundogPageRecorder *recorder, int32_t page, int32_t slot)
{
    NotedState *noted = &recorder->states[slot];
    const NotedPage *last = &recorder->pages[page];
    recorder->n_waiting_states -= noted->waits;
    noted->waits = page != SUNDOG_NULL_PAGE && last->depth >= LEAST_PAGES;
    recorder->n_waiting_states += noted->waits;
    memcpy(noted->parent, last->name, sizeof noted->parent);
}

static SundogPrefixRecord
state_after(const SundogPageRecorder *recorder, const uint8_t parent[SUNDOG_RECORD_HASH_BYTES])
{
    SundogPrefixRecord record = {.n_bytes = recorder->options.state.n_bytes[SUNDOG_STATE_SLOTS]};
    memcpy(record.key, recorder->options.key, sizeof record.key);
    memcpy(record.parent, parent, sizeof record.parent);
    return record;
}

uint32_t
sundog_page_recorder_find_state(const SundogPageRecorder *recorder, int32_t parent,
                                const uint32_t *tokens, uint32_t n_pages)
{
    uint32_t n_found = 0, page_tokens = recorder->options.page_tokens;
    SundogPrefixRecord page = record_after(recorder, parent, tokens);
    for (uint32_t i = 0; i < n_pages; i++) {
        page.tokens = tokens + (size_t)i * page_tokens;
        sundog_prefix_record_get_name(&page, page.parent);
        SundogPrefixRecord state = state_after(recorder, page.parent);
        if (sundog_record_store_has(recorder->options.store, &state))
            n_found = i + 1;
    }
    return n_found;
}

bool
sundog_page_recorder_restore_state(SundogPageRecorder *recorder, int32_t page, int32_t slot)
{
    const SundogStateAccess *state = &recorder->options.state;
    SundogPrefixRecord record = state_after(recorder, recorder->pages[page].name);
    return sundog_record_store_load(recorder->options.store, &record, recorder->bytes) &&
           state->write(SUNDOG_STATE_SLOTS, slot, recorder->bytes, state->data);
}

bool
sundog_page_recorder_has_work(const SundogPageRecorder *recorder)
{
    return recorder->ring_length > 0 || recorder->n_waiting_states > 0;
}

static int32_t
take_waiting(SundogPageRecorder *recorder)
{
    int32_t page = recorder->ring[recorder->ring_first];
    recorder->ring_first = (recorder->ring_first + 1) % recorder->options.n_pages;
    recorder->ring_length--;
    recorder->pages[page].waits = false;
    return page;
}

/* A full disk is not news for each record. */
static bool
save(SundogPageRecorder *recorder, const SundogPrefixRecord *record)
{
    g_autoptr(GError) error = NULL;
    bool saved = sundog_record_store_save(recorder->options.store, record, recorder->bytes, &error);
    if (!saved && !recorder->complained)
        g_printerr("sundog-engine: prefixes are not kept: %s\n", error->message);
    recorder->complained |= !saved;
    return saved;
}

static void
save_page(SundogPageRecorder *recorder, const SundogWindowPages *windows, int32_t page,
          const uint32_t *tokens)
{
    const SundogStateAccess *state = &recorder->options.state;
    NotedPage *noted = &recorder->pages[page];
    SundogPrefixRecord record = record_after(recorder, noted->parent, tokens);
    bool is_read = state->read(SUNDOG_STATE_PAGES, page, recorder->bytes, state->data);
    if (windows != NULL)
        is_read = is_read &&
                  state->read(SUNDOG_STATE_WINDOWS, sundog_window_pages_get(windows, page),
                              recorder->bytes + state->n_bytes[SUNDOG_STATE_PAGES], state->data);
    noted->saved = is_read && save(recorder, &record);
}

static void
save_state(SundogPageRecorder *recorder, int32_t slot)
{
    const SundogStateAccess *state = &recorder->options.state;
    const NotedState *noted = &recorder->states[slot];
    SundogPrefixRecord record = state_after(recorder, noted->parent);
    if (state->read(SUNDOG_STATE_SLOTS, slot, recorder->bytes, state->data))
        save(recorder, &record);
}

/* After the pages, without which it is of no use. */
static void
save_any_state(SundogPageRecorder *recorder, const SundogStatePool *states)
{
    for (int32_t slot = 1; recorder->n_waiting_states > 0; slot++) {
        if (!recorder->states[slot].waits)
            continue;
        recorder->states[slot].waits = false;
        recorder->n_waiting_states--;
        if (sundog_state_pool_is_kept(states, slot)) { /* it may have been needed since */
            save_state(recorder, slot);
            return;
        }
    }
}

/* False where there is nothing to write: the page may have been evicted since, or its window, or been saved. */
static bool
save_waiting(SundogPageRecorder *recorder, const SundogPrefixTree *tree,
             const SundogWindowPages *windows, int32_t page)
{
    const uint32_t *tokens = sundog_prefix_tree_get_full(tree, page);
    bool is_whole = windows == NULL || sundog_window_pages_get(windows, page) != SUNDOG_NULL_PAGE;
    bool is_wanted = tokens != NULL && is_whole && !recorder->pages[page].saved;
    if (is_wanted)
        save_page(recorder, windows, page, tokens);
    return is_wanted;
}

void
sundog_page_recorder_save(SundogPageRecorder *recorder, const SundogPrefixTree *tree,
                          const SundogWindowPages *windows, int32_t page)
{
    if (recorder->pages[page].waits)
        save_waiting(recorder, tree, windows, page);
}

void
sundog_page_recorder_work(SundogPageRecorder *recorder, const SundogPrefixTree *tree,
                          const SundogWindowPages *windows, const SundogStatePool *states)
{
    while (recorder->ring_length > 0) {
        int32_t page = take_waiting(recorder);
        if (save_waiting(recorder, tree, windows, page))
            return;
    }
    save_any_state(recorder, states);
}
