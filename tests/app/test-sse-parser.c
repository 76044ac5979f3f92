/* The event stream parser: the same events for every cut, unknown fields and events harmless (H48), bounded. */

#include "app/server/sse-parser.h"
#include <string.h>

static void
on_event(const char *name, const char *data, gpointer log)
{
    g_string_append_printf(log, "[%s|%s]", name, data);
}

static void
on_comment(const char *text, gpointer log)
{
    g_string_append_printf(log, "<%s>", text);
}

static char *
feed_in_pieces(const char *bytes, size_t n_bytes, size_t n_piece)
{
    GString *log = g_string_new(NULL);
    SundogSseHandler handler = {on_event, on_comment, log};
    g_autoptr(SundogSseParser) parser = sundog_sse_parser_new(&handler);
    for (size_t i = 0; i < n_bytes; i += n_piece)
        g_assert_true(sundog_sse_parser_feed(parser, bytes + i, MIN(n_piece, n_bytes - i)));
    return g_string_free(log, FALSE);
}

static void
test_cuts(void)
{
    static const char stream[] = "\xef\xbb\xbf: hello\n"
                                 "data: a\n\n"
                                 "event: state\r\ndata: {\"x\":\r\ndata:1}\r\n\r\n"
                                 "event: foo\ndata: ignored by name\n\n"
                                 "id: 7\nretry: 10\nnonsense\ndata\n\n"
                                 "data: é漢\r\r"
                                 ": {\"phase\":\"load\"}\n"
                                 "event: none\n\n"
                                 "data: [DONE]\n\n"
                                 "data: unfinished";
    static const char expected[] = "<hello>[message|a][state|{\"x\":\n1}][foo|ignored by name]"
                                   "[message|][message|é漢]<{\"phase\":\"load\"}>[message|[DONE]]";
    for (size_t n = 1; n <= sizeof stream; n++) {
        g_autofree char *log = feed_in_pieces(stream, sizeof stream - 1, n);
        g_assert_cmpstr(log, ==, expected);
    }
}

static void
test_invalid(void)
{
    g_autofree char *log = feed_in_pieces("data: \xff\xe6\xbc\n\n", 11, 3);
    g_assert_true(g_utf8_validate(log, -1, NULL));
}

static void
test_bound(void)
{
    GString *log = g_string_new(NULL);
    SundogSseHandler handler = {on_event, NULL, log};
    g_autoptr(SundogSseParser) parser = sundog_sse_parser_new(&handler);
    g_autofree char *piece = g_malloc(65536);
    memset(piece, 'x', 65536);
    unsigned n_accepted = 0;
    while (n_accepted < 1000 && sundog_sse_parser_feed(parser, piece, 65536))
        n_accepted++;
    g_assert_cmpuint(n_accepted, ==, SUNDOG_SSE_MAX_EVENT_BYTES / 65536);
    g_assert_false(sundog_sse_parser_feed(parser, "\n\n", 2));
    g_assert_cmpuint(log->len, ==, 0);
    g_string_free(log, TRUE);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sse-parser/cuts", test_cuts);
    g_test_add_func("/sse-parser/invalid", test_invalid);
    g_test_add_func("/sse-parser/bound", test_bound);
    return g_test_run();
}
