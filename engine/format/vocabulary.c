/* A vocabulary's life and its binary form. */

#include "engine/format/vocabulary.h"

#include "engine/format/error.h"

#define VOCABULARY_VERSION 1

enum {
    FLAG_ADD_BOS = 1,
    FLAG_ADD_EOS = 2,
    FLAG_ADD_SPACE_PREFIX = 4,
    FLAG_IGNORE_MERGES = 8,
    FLAGS_ALL = 15,
};

SundogVocabulary *
sundog_vocabulary_new(void)
{
    SundogVocabulary *vocabulary = g_new0(SundogVocabulary, 1);
    vocabulary->kind = SUNDOG_TOKENIZER_BPE;
    vocabulary->bos = SUNDOG_TOKEN_NONE;
    vocabulary->eos = SUNDOG_TOKEN_NONE;
    vocabulary->unknown = SUNDOG_TOKEN_NONE;
    vocabulary->padding = SUNDOG_TOKEN_NONE;
    vocabulary->strings = g_string_chunk_new(64 * 1024);
    return vocabulary;
}

void
sundog_vocabulary_free(SundogVocabulary *vocabulary)
{
    if (vocabulary == NULL)
        return;
    g_free(vocabulary->pre_tokenizer);
    g_free(vocabulary->tokens);
    g_free(vocabulary->merges);
    g_free(vocabulary->ends);
    g_string_chunk_free(vocabulary->strings);
    g_free(vocabulary);
}

void
sundog_vocabulary_add_end(SundogVocabulary *vocabulary, uint32_t token)
{
    if (token == SUNDOG_TOKEN_NONE)
        return;
    for (uint32_t i = 0; i < vocabulary->n_ends; i++) {
        if (vocabulary->ends[i] == token)
            return;
    }
    vocabulary->ends = g_renew(uint32_t, vocabulary->ends, vocabulary->n_ends + 1);
    vocabulary->ends[vocabulary->n_ends++] = token;
}

/*
 * All little-endian; a string is a u32 length and UTF-8.
 *   u32 version, u32 kind, u32 flags, string pre-tokenizer
 *   u32 bos, eos, unknown, padding (0xffffffff: none)
 *   u64 n_tokens, then for each: string text, u8 kind, f32 score
 *   u64 n_merges, then for each: string "left right"
 *   u64 n_ends, then for each: u32 token
 */
void
sundog_vocabulary_write(const SundogVocabulary *vocabulary, SundogWriter *writer)
{
    sundog_writer_u32(writer, VOCABULARY_VERSION);
    sundog_writer_u32(writer, vocabulary->kind);
    sundog_writer_u32(writer, (vocabulary->add_bos ? FLAG_ADD_BOS : 0) |
                                  (vocabulary->add_eos ? FLAG_ADD_EOS : 0) |
                                  (vocabulary->add_space_prefix ? FLAG_ADD_SPACE_PREFIX : 0) |
                                  (vocabulary->ignore_merges ? FLAG_IGNORE_MERGES : 0));
    sundog_writer_string(writer, vocabulary->pre_tokenizer ? vocabulary->pre_tokenizer : "");
    sundog_writer_u32(writer, vocabulary->bos);
    sundog_writer_u32(writer, vocabulary->eos);
    sundog_writer_u32(writer, vocabulary->unknown);
    sundog_writer_u32(writer, vocabulary->padding);

    sundog_writer_u64(writer, vocabulary->n_tokens);
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        sundog_writer_string(writer, vocabulary->tokens[i].text);
        sundog_writer_u8(writer, (uint8_t)vocabulary->tokens[i].kind);
        sundog_writer_f32(writer, vocabulary->tokens[i].score);
    }
    sundog_writer_u64(writer, vocabulary->n_merges);
    for (uint32_t i = 0; i < vocabulary->n_merges; i++)
        sundog_writer_string(writer, vocabulary->merges[i]);
    sundog_writer_u64(writer, vocabulary->n_ends);
    for (uint32_t i = 0; i < vocabulary->n_ends; i++)
        sundog_writer_u32(writer, vocabulary->ends[i]);
}

static void
read_head(SundogReader *reader, SundogVocabulary *vocabulary)
{
    uint32_t version = sundog_reader_u32(reader);
    if (version != VOCABULARY_VERSION)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "vocabulary version %u, expected %d", version, VOCABULARY_VERSION);
    uint32_t kind = sundog_reader_u32(reader);
    if (kind != SUNDOG_TOKENIZER_BPE)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "tokenizer kind %u, expected %d", kind, SUNDOG_TOKENIZER_BPE);
    uint32_t flags = sundog_reader_u32(reader);
    if ((flags & ~(uint32_t)FLAGS_ALL) != 0)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "vocabulary flags %#x, expected at most %#x", flags, FLAGS_ALL);
    vocabulary->add_bos = flags & FLAG_ADD_BOS;
    vocabulary->add_eos = flags & FLAG_ADD_EOS;
    vocabulary->add_space_prefix = flags & FLAG_ADD_SPACE_PREFIX;
    vocabulary->ignore_merges = flags & FLAG_IGNORE_MERGES;
    vocabulary->pre_tokenizer = sundog_reader_dup_string(reader);
    vocabulary->bos = sundog_reader_u32(reader);
    vocabulary->eos = sundog_reader_u32(reader);
    vocabulary->unknown = sundog_reader_u32(reader);
    vocabulary->padding = sundog_reader_u32(reader);
}

/* A count that also fits the vocabulary's own 32 bits. */
static uint32_t
read_count(SundogReader *reader, size_t min_bytes)
{
    uint64_t count = sundog_reader_count(reader, min_bytes);
    if (count < SUNDOG_TOKEN_NONE)
        return (uint32_t)count;
    sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                       "%" G_GUINT64_FORMAT " elements, expected fewer than 2^32 - 1", count);
    return 0;
}

static const char *
read_text(SundogReader *reader, SundogVocabulary *vocabulary, uint32_t *length)
{
    *length = sundog_reader_u32(reader);
    const char *text = (const char *)sundog_reader_bytes(reader, *length);
    if (text == NULL)
        return NULL;
    if (!g_utf8_validate_len(text, *length, NULL)) {
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "a text of %u bytes is not UTF-8 without NUL", *length);
        return NULL;
    }
    return g_string_chunk_insert_len(vocabulary->strings, text, *length);
}

static void
read_tokens(SundogReader *reader, SundogVocabulary *vocabulary)
{
    vocabulary->n_tokens = read_count(reader, 4 + 1 + 4);
    vocabulary->tokens = g_new0(SundogToken, vocabulary->n_tokens);
    for (uint32_t i = 0; i < vocabulary->n_tokens && sundog_reader_ok(reader); i++) {
        SundogToken *token = &vocabulary->tokens[i];
        token->text = read_text(reader, vocabulary, &token->length);
        uint8_t kind = sundog_reader_u8(reader);
        if (kind < SUNDOG_TOKEN_NORMAL || kind > SUNDOG_TOKEN_BYTE)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                               "token %u is of kind %u, expected 1 to %d", i, kind,
                               SUNDOG_TOKEN_BYTE);
        token->kind = kind;
        token->score = sundog_reader_f32(reader);
    }
}

static void
read_merges(SundogReader *reader, SundogVocabulary *vocabulary)
{
    uint32_t length;
    vocabulary->n_merges = read_count(reader, 4);
    vocabulary->merges = g_new0(const char *, vocabulary->n_merges);
    for (uint32_t i = 0; i < vocabulary->n_merges && sundog_reader_ok(reader); i++)
        vocabulary->merges[i] = read_text(reader, vocabulary, &length);
}

static void
check_id(SundogReader *reader, const SundogVocabulary *vocabulary, const char *role, uint32_t id)
{
    if (id >= vocabulary->n_tokens && id != SUNDOG_TOKEN_NONE)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "%s token is %u, expected fewer than %u", role, id,
                           vocabulary->n_tokens);
}

static void
read_ends(SundogReader *reader, SundogVocabulary *vocabulary)
{
    vocabulary->n_ends = read_count(reader, 4);
    vocabulary->ends = g_new0(uint32_t, vocabulary->n_ends);
    for (uint32_t i = 0; i < vocabulary->n_ends; i++) {
        vocabulary->ends[i] = sundog_reader_u32(reader);
        if (vocabulary->ends[i] >= vocabulary->n_tokens)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                               "end token %u is %u, expected fewer than %u", i, vocabulary->ends[i],
                               vocabulary->n_tokens);
    }
    check_id(reader, vocabulary, "BOS", vocabulary->bos);
    check_id(reader, vocabulary, "EOS", vocabulary->eos);
    check_id(reader, vocabulary, "unknown", vocabulary->unknown);
    check_id(reader, vocabulary, "padding", vocabulary->padding);
}

SundogVocabulary *
sundog_vocabulary_read(SundogReader *reader)
{
    g_autoptr(SundogVocabulary) vocabulary = sundog_vocabulary_new();
    read_head(reader, vocabulary);
    read_tokens(reader, vocabulary);
    read_merges(reader, vocabulary);
    read_ends(reader, vocabulary);
    return sundog_reader_ok(reader) ? g_steal_pointer(&vocabulary) : NULL;
}
