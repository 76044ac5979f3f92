/* Stop strings byte by byte. */

#include "engine/text/stop-matcher.h"

#include <glib.h>
#include <string.h>

typedef struct {
    char *text;
    size_t n_bytes;
    size_t
        *fallback; /* [n_bytes] bytes that still match where the byte after the first i + 1 fails */
    size_t n_matched;
} Stop;

struct SundogStopMatcher {
    Stop *stops; /* [n_stops] */
    size_t n_stops;
};

/* The number of bytes of the stop that match once this byte follows n_matched of them. */
static size_t
advance(const Stop *stop, size_t n_matched, char byte)
{
    while (n_matched > 0 && (n_matched == stop->n_bytes || stop->text[n_matched] != byte))
        n_matched = stop->fallback[n_matched - 1];
    return n_matched + (stop->text[n_matched] == byte ? 1 : 0);
}

static void
stop_init(Stop *stop, const char *text)
{
    stop->text = g_strdup(text);
    stop->n_bytes = strlen(text);
    stop->fallback = g_new0(size_t, stop->n_bytes);
    stop->n_matched = 0;
    for (size_t i = 1; i < stop->n_bytes; i++)
        stop->fallback[i] = advance(stop, stop->fallback[i - 1], text[i]);
}

SundogStopMatcher *
sundog_stop_matcher_new(const char *const *stops)
{
    SundogStopMatcher *matcher = g_new0(SundogStopMatcher, 1);
    size_t n_stops = 0;
    while (stops != NULL && stops[n_stops] != NULL)
        n_stops++;
    matcher->stops = g_new0(Stop, n_stops);
    for (size_t i = 0; i < n_stops; i++)
        if (stops[i][0] != '\0')
            stop_init(&matcher->stops[matcher->n_stops++], stops[i]);
    return matcher;
}

void
sundog_stop_matcher_free(SundogStopMatcher *matcher)
{
    if (matcher == NULL)
        return;
    for (size_t i = 0; i < matcher->n_stops; i++) {
        g_free(matcher->stops[i].text);
        g_free(matcher->stops[i].fallback);
    }
    g_free(matcher->stops);
    g_free(matcher);
}

const char *
sundog_stop_matcher_feed(SundogStopMatcher *matcher, char byte)
{
    const Stop *met = NULL;
    for (size_t i = 0; i < matcher->n_stops; i++) {
        Stop *stop = &matcher->stops[i];
        stop->n_matched = advance(stop, stop->n_matched, byte);
        if (stop->n_matched == stop->n_bytes && (met == NULL || stop->n_bytes > met->n_bytes))
            met = stop;
    }
    return met != NULL ? met->text : NULL;
}

size_t
sundog_stop_matcher_get_n_held(const SundogStopMatcher *matcher)
{
    size_t n_held = 0;
    for (size_t i = 0; i < matcher->n_stops; i++)
        n_held = MAX(n_held, matcher->stops[i].n_matched);
    return n_held;
}
