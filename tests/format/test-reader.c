/* The bounded reader and its mirror, and the vocabulary that is written and read through them. */

#include "engine/format/error.h"
#include "engine/format/reader.h"
#include "engine/format/vocabulary.h"
#include "engine/format/writer.h"

#include <math.h>
#include <string.h>

static void
write_all_kinds(SundogWriter *writer)
{
    sundog_writer_u8(writer, 0xfe);
    sundog_writer_u16(writer, 0xfedc);
    sundog_writer_u32(writer, 0xfedcba98);
    sundog_writer_u64(writer, UINT64_C(0xfedcba9876543210));
    sundog_writer_f32(writer, -1.5f);
    sundog_writer_f64(writer, 1e-300);
    sundog_writer_string(writer, "gr\xc3\xbc\xc3\x9f");
    sundog_writer_string(writer, "");
    sundog_writer_align(writer, 16);
    sundog_writer_bytes(writer, "end", 3);
}

static void
test_round_trip(void)
{
    SundogWriter writer;
    SundogReader reader;
    sundog_writer_init(&writer);
    write_all_kinds(&writer);
    g_autoptr(GBytes) bytes = sundog_writer_steal(&writer);
    sundog_reader_init(&reader, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), "test");
    g_assert_cmpuint(sundog_reader_u8(&reader), ==, 0xfe);
    g_assert_cmpuint(sundog_reader_u16(&reader), ==, 0xfedc);
    g_assert_cmpuint(sundog_reader_u32(&reader), ==, 0xfedcba98);
    g_assert_cmpuint(sundog_reader_u64(&reader), ==, UINT64_C(0xfedcba9876543210));
    g_assert_cmpfloat(sundog_reader_f32(&reader), ==, -1.5f);
    g_assert_cmpfloat(sundog_reader_f64(&reader), ==, 1e-300);
    g_autofree char *text = sundog_reader_dup_string(&reader);
    g_autofree char *empty = sundog_reader_dup_string(&reader);
    g_assert_cmpstr(text, ==, "gr\xc3\xbc\xc3\x9f");
    g_assert_cmpstr(empty, ==, "");
    sundog_reader_align(&reader, 16);
    g_assert_cmpuint(reader.pos, ==, 48);
    g_assert_cmpmem(sundog_reader_bytes(&reader, 3), 3, "end", 3);
    g_assert_cmpuint(sundog_reader_left(&reader), ==, 0);
    g_assert_true(sundog_reader_finish(&reader, NULL));
}

static void
test_byte_order(void)
{
    /* The order on disk is little-endian whatever the machine's. */
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_writer_u32(&writer, 0x01020304);
    g_assert_cmpmem(writer.bytes->data, writer.bytes->len, "\4\3\2\1", 4);
    sundog_writer_clear(&writer);
}

static void
test_first_failure_is_kept(void)
{
    SundogReader reader;
    g_autoptr(GError) error = NULL;
    sundog_reader_init(&reader, "\1\2\3", 3, "small file");
    g_assert_cmpuint(sundog_reader_u16(&reader), ==, 0x0201);
    g_assert_cmpuint(sundog_reader_u32(&reader), ==, 0);
    g_assert_false(sundog_reader_ok(&reader));
    g_assert_cmpuint(sundog_reader_u8(&reader), ==, 0); /* although one byte is left */
    g_assert_null(sundog_reader_bytes(&reader, 0));
    g_assert_null(sundog_reader_dup_string(&reader));
    sundog_reader_fail(&reader, SUNDOG_FORMAT_ERROR_INVALID, "a later failure");
    g_assert_false(sundog_reader_finish(&reader, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_TRUNCATED);
    g_assert_cmpstr(error->message, ==, "small file at byte 2: 4 bytes expected, 1 left");
}

static void
test_lengths(void)
{
    static const uint64_t lengths[] = {4, UINT32_MAX, UINT64_C(1) << 60, UINT64_MAX,
                                       UINT64_MAX - 2};
    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        SundogReader reader;
        sundog_reader_init(&reader, "abc", 3, "test");
        sundog_reader_u8(&reader);
        g_assert_null(sundog_reader_bytes(&reader, lengths[i]));
        g_assert_cmpuint(reader.pos, ==, 1);
        g_assert_false(sundog_reader_finish(&reader, NULL));
    }
}

static void
test_nothing(void)
{
    SundogReader reader;
    sundog_reader_init(&reader, NULL, 0, "nothing");
    g_assert_nonnull(sundog_reader_bytes(&reader, 0));
    sundog_reader_align(&reader, 4096);
    g_assert_true(sundog_reader_finish(&reader, NULL));
}

static void
test_counts(void)
{
    /* A count of 3, with 8 bytes behind it: as many as two elements of 4, or eight of 1. */
    static const uint8_t data[16] = {3};
    static const size_t sizes[] = {1, 2, 3, 4, SIZE_MAX};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        SundogReader reader;
        sundog_reader_init(&reader, data, sizeof data, "test");
        uint64_t count = sundog_reader_count(&reader, sizes[i]);
        g_assert_cmpuint(count, ==, sizes[i] <= 2 ? 3 : 0);
        g_assert_true(sundog_reader_finish(&reader, NULL) == (sizes[i] <= 2));
    }
}

static void
test_strings(void)
{
    static const struct {
        const char *bytes;
        size_t n_bytes;
    } bad[] = {
        {"\2\0\0\0\xc3(", 6}, {"\3\0\0\0a\0b", 7},     {"\1\0\0\0\xff", 5},
        {"\4\0\0\0abc", 7},   {"\xff\xff\xff\xff", 4}, {"\1\0\0", 3},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        SundogReader reader;
        sundog_reader_init(&reader, bad[i].bytes, bad[i].n_bytes, "test");
        g_assert_null(sundog_reader_dup_string(&reader));
        g_assert_false(sundog_reader_finish(&reader, NULL));
    }
}

static SundogVocabulary *
make_vocabulary(void)
{
    static const char *const texts[] = {"a", "b", "ab", "<|end|>", ""};
    SundogVocabulary *vocabulary = sundog_vocabulary_new();
    vocabulary->pre_tokenizer = g_strdup("smollm");
    vocabulary->n_tokens = G_N_ELEMENTS(texts);
    vocabulary->tokens = g_new0(SundogToken, vocabulary->n_tokens);
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        vocabulary->tokens[i] = (SundogToken){
            .text = g_string_chunk_insert(vocabulary->strings, texts[i]),
            .length = (uint32_t)strlen(texts[i]),
            .kind = i == 3 ? SUNDOG_TOKEN_CONTROL : SUNDOG_TOKEN_NORMAL,
            .score = -(float)i,
        };
    }
    vocabulary->n_merges = 1;
    vocabulary->merges = g_new0(const char *, 1);
    vocabulary->merges[0] = g_string_chunk_insert(vocabulary->strings, "a b");
    vocabulary->eos = 3;
    vocabulary->add_eos = true;
    vocabulary->ignore_merges = true;
    sundog_vocabulary_add_end(vocabulary, 3);
    sundog_vocabulary_add_end(vocabulary, 3);
    sundog_vocabulary_add_end(vocabulary, SUNDOG_TOKEN_NONE);
    return vocabulary;
}

static GBytes *
write_vocabulary(const SundogVocabulary *vocabulary)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_vocabulary_write(vocabulary, &writer);
    return sundog_writer_steal(&writer);
}

/* NULL where the bytes are refused. */
static SundogVocabulary *
read_vocabulary(const void *data, size_t n_bytes)
{
    SundogReader reader;
    sundog_reader_init(&reader, data, n_bytes, "vocabulary");
    SundogVocabulary *vocabulary = sundog_vocabulary_read(&reader);
    g_assert_true(sundog_reader_finish(&reader, NULL) == (vocabulary != NULL));
    return vocabulary;
}

static void
test_vocabulary(void)
{
    g_autoptr(SundogVocabulary) made = make_vocabulary();
    g_assert_cmpuint(made->n_ends, ==, 1);
    g_autoptr(GBytes) bytes = write_vocabulary(made);
    g_autoptr(SundogVocabulary) read =
        read_vocabulary(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
    g_assert_nonnull(read);
    g_assert_cmpstr(read->pre_tokenizer, ==, "smollm");
    g_assert_cmpuint(read->n_tokens, ==, 5);
    g_assert_cmpstr(read->tokens[3].text, ==, "<|end|>");
    g_assert_cmpuint(read->tokens[3].length, ==, 7);
    g_assert_cmpint(read->tokens[3].kind, ==, SUNDOG_TOKEN_CONTROL);
    g_assert_cmpfloat(read->tokens[3].score, ==, -3);
    g_assert_cmpuint(read->tokens[4].length, ==, 0);
    g_assert_cmpstr(read->merges[0], ==, "a b");
    g_assert_cmpuint(read->eos, ==, 3);
    g_assert_cmpuint(read->bos, ==, SUNDOG_TOKEN_NONE);
    g_assert_cmpuint(read->ends[0], ==, 3);
    g_assert_true(read->add_eos && read->ignore_merges);
    g_assert_false(read->add_bos || read->add_space_prefix);
}

static void
test_bad_vocabularies(void)
{
    g_autoptr(SundogVocabulary) made = make_vocabulary();
    g_autoptr(GBytes) whole = write_vocabulary(made);
    for (size_t n = 0; n < g_bytes_get_size(whole); n++)
        g_assert_null(read_vocabulary(g_bytes_get_data(whole, NULL), n));
    uint32_t *const ids[] = {&made->bos, &made->eos, &made->unknown, &made->padding,
                             &made->ends[0]};
    for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
        uint32_t good = *ids[i];
        *ids[i] = 5;
        g_autoptr(GBytes) bytes = write_vocabulary(made);
        g_assert_null(read_vocabulary(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes)));
        *ids[i] = good;
    }
    made->tokens[1].kind = 7;
    g_autoptr(GBytes) bytes = write_vocabulary(made);
    g_assert_null(read_vocabulary(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes)));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reader/round-trip", test_round_trip);
    g_test_add_func("/reader/byte-order", test_byte_order);
    g_test_add_func("/reader/first-failure-is-kept", test_first_failure_is_kept);
    g_test_add_func("/reader/lengths", test_lengths);
    g_test_add_func("/reader/nothing", test_nothing);
    g_test_add_func("/reader/counts", test_counts);
    g_test_add_func("/reader/strings", test_strings);
    g_test_add_func("/vocabulary/round-trip", test_vocabulary);
    g_test_add_func("/vocabulary/bad", test_bad_vocabularies);
    return g_test_run();
}
