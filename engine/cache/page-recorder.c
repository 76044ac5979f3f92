/* Names of pages, and a ring of those that wait to be written. */

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

struct SundogPageRecorder {
    SundogPageRecorderOptions options;
    NotedPage *pages; /* [n_pages]; the null page is the root, all zero */
    int32_t *ring;    /* [n_pages] each page at most once */
    int32_t ring_first;
    int32_t ring_length;
    uint8_t *bytes; /* [page_bytes] */
    bool complained;
};

SundogPageRecorder *
sundog_page_recorder_new(const SundogPageRecorderOptions *options)
{
    SundogPageRecorder *recorder = g_new0(SundogPageRecorder, 1);
    recorder->options = *options;
    recorder->pages = g_new0(NotedPage, (size_t)options->n_pages);
    recorder->ring = g_new0(int32_t, (size_t)options->n_pages);
    recorder->bytes = g_malloc(options->page_bytes);
    return recorder;
}

void
sundog_page_recorder_free(SundogPageRecorder *recorder)
{
    if (recorder) {
        sundog_record_store_close(recorder->options.store);
        g_free(recorder->pages);
        g_free(recorder->ring);
        g_free(recorder->bytes);
        g_free(recorder);
    }
}

static SundogPrefixRecord
record_after(const SundogPageRecorder *recorder, int32_t parent, const uint32_t *tokens)
{
    SundogPrefixRecord record = {.tokens = tokens,
                                 .n_tokens = recorder->options.page_tokens,
                                 .n_bytes = recorder->options.page_bytes};
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
sundog_page_recorder_restore(SundogPageRecorder *recorder, int32_t parent, int32_t page,
                             const uint32_t *tokens)
{
    const SundogPageRecorderOptions *options = &recorder->options;
    SundogPrefixRecord record = record_after(recorder, parent, tokens);
    NotedPage *noted = &recorder->pages[page];
    uint32_t depth = recorder->pages[parent].depth + 1;
    if (!sundog_record_store_load(options->store, &record, recorder->bytes, depth))
        return false;
    options->write_page(page, recorder->bytes, options->data);
    sundog_prefix_record_get_name(&record, noted->name);
    noted->saved = true;
    return true;
}

bool
sundog_page_recorder_has_work(const SundogPageRecorder *recorder)
{
    return recorder->ring_length > 0;
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

static void
save(SundogPageRecorder *recorder, int32_t page, const uint32_t *tokens)
{
    const SundogPageRecorderOptions *options = &recorder->options;
    NotedPage *noted = &recorder->pages[page];
    SundogPrefixRecord record = record_after(recorder, noted->parent, tokens);
    g_autoptr(GError) error = NULL;
    options->read_page(page, recorder->bytes, options->data);
    noted->saved =
        sundog_record_store_save(options->store, &record, recorder->bytes, noted->depth, &error);
    if (!noted->saved && !recorder->complained) {
        recorder->complained = true; /* a full disk is not news for each page */
        g_printerr("sundog-engine: prefixes are not kept: %s\n", error->message);
    }
}

void
sundog_page_recorder_work(SundogPageRecorder *recorder, const SundogPrefixTree *tree)
{
    while (recorder->ring_length > 0) {
        int32_t page = take_waiting(recorder);
        const uint32_t *tokens = sundog_prefix_tree_get_full(tree, page);
        if (tokens != NULL) { /* it may have been evicted since */
            save(recorder, page, tokens);
            return;
        }
    }
}
