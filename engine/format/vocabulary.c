/* A vocabulary's life and its binary form. */

#include "engine/format/vocabulary.h"

#include "engine/format/error.h"

#define VOCABULARY_VERSION 2

enum {
    FLAG_ADD_BOS = 1,
    FLAG_ADD_EOS = 2,
    FLAG_ADD_SPACE_PREFIX = 4,
    FLAG_IGNORE_MERGES = 8,
    FLAG_ADD_SPACE_SUFFIX = 16,
    FLAG_MERGE_SPACES = 32,
    FLAG_LOWERCASE = 64,
    FLAG_STRIP_ACCENTS = 128,
    FLAG_COMPOSE = 256,
    FLAG_ADD_SPACE_ONCE = 512,
    FLAG_ADD_SPACE_UNLESS = 1024,
    FLAGS_ALL = 2047,
};

/* In the byte that holds a token's kind. */
enum { STRIP_LEFT = 0x40, STRIP_RIGHT = 0x80 };

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
    g_free(vocabulary->expressions);
    g_free(vocabulary->character_map);
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
    for (uint32_t i = 0; i < vocabulary->n_ends; i++)
        if (vocabulary->ends[i] == token)
            return;
    vocabulary->ends = g_renew(uint32_t, vocabulary->ends, vocabulary->n_ends + 1);
    vocabulary->ends[vocabulary->n_ends++] = token;
}

static uint32_t
get_flags(const SundogVocabulary *vocabulary)
{
    return (vocabulary->add_bos ? FLAG_ADD_BOS : 0) | (vocabulary->add_eos ? FLAG_ADD_EOS : 0) |
           (vocabulary->add_space_prefix ? FLAG_ADD_SPACE_PREFIX : 0) |
           (vocabulary->ignore_merges ? FLAG_IGNORE_MERGES : 0) |
           (vocabulary->add_space_suffix ? FLAG_ADD_SPACE_SUFFIX : 0) |
           (vocabulary->merge_spaces ? FLAG_MERGE_SPACES : 0) |
           (vocabulary->lowercase ? FLAG_LOWERCASE : 0) |
           (vocabulary->strip_accents ? FLAG_STRIP_ACCENTS : 0) |
           (vocabulary->compose ? FLAG_COMPOSE : 0) |
           (vocabulary->add_space_once ? FLAG_ADD_SPACE_ONCE : 0) |
           (vocabulary->add_space_unless ? FLAG_ADD_SPACE_UNLESS : 0);
}

static void
set_flags(SundogVocabulary *vocabulary, uint32_t flags)
{
    vocabulary->add_bos = flags & FLAG_ADD_BOS;
    vocabulary->add_eos = flags & FLAG_ADD_EOS;
    vocabulary->add_space_prefix = flags & FLAG_ADD_SPACE_PREFIX;
    vocabulary->ignore_merges = flags & FLAG_IGNORE_MERGES;
    vocabulary->add_space_suffix = flags & FLAG_ADD_SPACE_SUFFIX;
    vocabulary->merge_spaces = flags & FLAG_MERGE_SPACES;
    vocabulary->lowercase = flags & FLAG_LOWERCASE;
    vocabulary->strip_accents = flags & FLAG_STRIP_ACCENTS;
    vocabulary->compose = flags & FLAG_COMPOSE;
    vocabulary->add_space_once = flags & FLAG_ADD_SPACE_ONCE;
    vocabulary->add_space_unless = flags & FLAG_ADD_SPACE_UNLESS;
}

static uint8_t
get_kind_byte(const SundogToken *token)
{
    return (uint8_t)(token->kind | (token->strip_left ? STRIP_LEFT : 0) |
                     (token->strip_right ? STRIP_RIGHT : 0));
}

/*
 * All little-endian; a string is a u32 length and UTF-8.
 *   u32 version, u32 kind, u32 flags, string pre-tokenizer
 *   u32 bos, eos, unknown, padding (0xffffffff: none)
 *   u64 n_tokens, then for each: string text, u8 kind and strip bits, f32 score
 *   u64 n_merges, then for each: string "left right"
 *   u64 n_ends, then for each: u32 token
 *   u64 n_expressions, then for each: string
 *   u64 n_character_map_bytes, then those
 */
void
sundog_vocabulary_write(const SundogVocabulary *vocabulary, SundogWriter *writer)
{
    sundog_writer_u32(writer, VOCABULARY_VERSION);
    sundog_writer_u32(writer, vocabulary->kind);
    sundog_writer_u32(writer, get_flags(vocabulary));
    sundog_writer_string(writer, vocabulary->pre_tokenizer ? vocabulary->pre_tokenizer : "");
    sundog_writer_u32(writer, vocabulary->bos);
    sundog_writer_u32(writer, vocabulary->eos);
    sundog_writer_u32(writer, vocabulary->unknown);
    sundog_writer_u32(writer, vocabulary->padding);

    sundog_writer_u64(writer, vocabulary->n_tokens);
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        sundog_writer_string(writer, vocabulary->tokens[i].text);
        sundog_writer_u8(writer, get_kind_byte(&vocabulary->tokens[i]));
        sundog_writer_f32(writer, vocabulary->tokens[i].score);
    }
    sundog_writer_u64(writer, vocabulary->n_merges);
    for (uint32_t i = 0; i < vocabulary->n_merges; i++)
        sundog_writer_string(writer, vocabulary->merges[i]);
    sundog_writer_u64(writer, vocabulary->n_ends);
    for (uint32_t i = 0; i < vocabulary->n_ends; i++)
        sundog_writer_u32(writer, vocabulary->ends[i]);
    sundog_writer_u64(writer, vocabulary->n_expressions);
    for (uint32_t i = 0; i < vocabulary->n_expressions; i++)
        sundog_writer_string(writer, vocabulary->expressions[i]);
    sundog_writer_u64(writer, vocabulary->n_character_map_bytes);
    sundog_writer_bytes(writer, vocabulary->character_map, vocabulary->n_character_map_bytes);
}

static SundogTokenizerKind
read_tokenizer_kind(SundogReader *reader)
{
    uint32_t kind = sundog_reader_u32(reader);
    switch (kind) {
#define X(name, number) \
    case number:        \
        return SUNDOG_TOKENIZER_##name;
        SUNDOG_TOKENIZER_KINDS(X)
#undef X
    default:
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "tokenizer kind %u is not known", kind);
        return SUNDOG_TOKENIZER_BPE;
    }
}

static void
read_head(SundogReader *reader, SundogVocabulary *vocabulary)
{
    uint32_t version = sundog_reader_u32(reader);
    if (version != VOCABULARY_VERSION)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "vocabulary version %u, expected %d", version, VOCABULARY_VERSION);
    vocabulary->kind = read_tokenizer_kind(reader);
    uint32_t flags = sundog_reader_u32(reader);
    if ((flags & ~(uint32_t)FLAGS_ALL) != 0)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "vocabulary flags %#x, expected at most %#x", flags, FLAGS_ALL);
    set_flags(vocabulary, flags);
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
        uint8_t byte = sundog_reader_u8(reader);
        uint8_t kind = byte & (uint8_t) ~(STRIP_LEFT | STRIP_RIGHT);
        if (kind < SUNDOG_TOKEN_NORMAL || kind > SUNDOG_TOKEN_BYTE)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                               "token %u is of kind %u, expected 1 to %d", i, kind,
                               SUNDOG_TOKEN_BYTE);
        token->kind = kind;
        token->strip_left = byte & STRIP_LEFT;
        token->strip_right = byte & STRIP_RIGHT;
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

static void
read_expressions(SundogReader *reader, SundogVocabulary *vocabulary)
{
    uint32_t length;
    vocabulary->n_expressions = read_count(reader, 4);
    vocabulary->expressions = g_new0(const char *, vocabulary->n_expressions);
    for (uint32_t i = 0; i < vocabulary->n_expressions && sundog_reader_ok(reader); i++)
        vocabulary->expressions[i] = read_text(reader, vocabulary, &length);
}

static void
read_character_map(SundogReader *reader, SundogVocabulary *vocabulary)
{
    uint32_t n_bytes = read_count(reader, 1);
    const uint8_t *map = sundog_reader_bytes(reader, n_bytes);
    if (map == NULL || n_bytes == 0)
        return;
    vocabulary->character_map = g_memdup2(map, n_bytes);
    vocabulary->n_character_map_bytes = n_bytes;
}

SundogVocabulary *
sundog_vocabulary_read(SundogReader *reader)
{
    g_autoptr(SundogVocabulary) vocabulary = sundog_vocabulary_new();
    read_head(reader, vocabulary);
    read_tokens(reader, vocabulary);
    read_merges(reader, vocabulary);
    read_ends(reader, vocabulary);
    read_expressions(reader, vocabulary);
    read_character_map(reader, vocabulary);
    return sundog_reader_ok(reader) ? g_steal_pointer(&vocabulary) : NULL;
}
