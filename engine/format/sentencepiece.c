/* SentencePiece's file: messages of fields, each with a number and one of four ways to hold its value. */

#include "engine/format/sentencepiece.h"

#include "engine/format/error.h"

#include <math.h>
#include <string.h>

/* How a field holds its value. */
enum { VARINT = 0, FIXED_64 = 1, BYTES = 2, FIXED_32 = 5 };
/* Fields of the file. */
enum { MODEL_PIECE = 1, MODEL_TRAINER = 2, MODEL_NORMALIZER = 3 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_KIND = 3 };
enum {
    TRAINER_MODEL = 3,
    TRAINER_SPACE_SUFFIX = 24,
    TRAINER_UNKNOWN = 40,
    TRAINER_BOS = 41,
    TRAINER_EOS = 42,
    TRAINER_PADDING = 43
};
enum { NORMALIZER_MAP = 2, NORMALIZER_PREFIX = 3, NORMALIZER_MERGE = 4, NORMALIZER_ESCAPE = 5 };
/* The trainer's models that are known here. */
enum { MODEL_UNIGRAM = 1, MODEL_BPE = 2 };

#define MAX_TOKENS (1u << 24)
#define SPACE_SIGN "\xE2\x96\x81"

/* One field as it stands in a message. */
typedef struct {
    uint32_t number;
    uint32_t way;
    uint64_t value;      /* of numbers */
    const uint8_t *data; /* of texts and messages within */
    uint64_t n_bytes;
} Field;

/* What the file says, before it is a vocabulary. */
typedef struct {
    SundogVocabulary *vocabulary;
    GArray *tokens; /* of SundogToken */
    uint64_t model;
    int64_t unknown;
    int64_t bos;
    int64_t eos;
    int64_t padding;
    bool escapes; /* spaces become U+2581 */
} File;

static uint64_t
read_varint(SundogReader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = sundog_reader_u8(reader);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "a number has more than 64 bits");
    return 0;
}

/* False at the end, and where something has failed. */
static bool
next_field(SundogReader *reader, Field *field)
{
    *field = (Field){0};
    if (!sundog_reader_ok(reader) || sundog_reader_left(reader) == 0)
        return false;
    uint64_t key = read_varint(reader);
    field->number = (uint32_t)MIN(key >> 3, UINT32_MAX);
    field->way = key & 7;
    if (field->way == VARINT) {
        field->value = read_varint(reader);
    } else if (field->way == FIXED_32) {
        field->value = sundog_reader_u32(reader);
    } else if (field->way == FIXED_64) {
        field->value = sundog_reader_u64(reader);
    } else if (field->way == BYTES) {
        field->n_bytes = read_varint(reader);
        field->data = sundog_reader_bytes(reader, field->n_bytes);
    } else {
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "field %u is of the unknown kind %u", field->number, field->way);
    }
    return sundog_reader_ok(reader);
}

/* The message that a field holds, as a reader of its own; its failure is the outer one's. */
static bool
read_message(const Field *field, const char *what, File *file,
             void (*take)(File *file, const Field *field, SundogReader *reader), GError **error)
{
    SundogReader reader;
    Field inner;
    sundog_reader_init(&reader, field->data, field->n_bytes, what);
    while (next_field(&reader, &inner))
        take(file, &inner, &reader);
    return sundog_reader_finish(&reader, error);
}

static float
get_float(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return isfinite(value) ? value : 0;
}

static SundogToken *
get_last(const File *file)
{
    return &g_array_index(file->tokens, SundogToken, file->tokens->len - 1);
}

static void
take_piece_field(File *file, const Field *field, SundogReader *reader)
{
    SundogToken *token = get_last(file);
    if (field->number == PIECE_TEXT && field->way == BYTES) {
        const char *text = (const char *)field->data;
        if (!g_utf8_validate_len(text, field->n_bytes, NULL)) {
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                               "piece %u is not UTF-8 without NUL", file->tokens->len - 1);
            return;
        }
        token->text =
            g_string_chunk_insert_len(file->vocabulary->strings, text, (gssize)field->n_bytes);
        token->length = (uint32_t)field->n_bytes;
    } else if (field->number == PIECE_SCORE && field->way == FIXED_32) {
        token->score = get_float(field->value);
    } else if (field->number == PIECE_KIND && field->way == VARINT) {
        /* The numbers are those of this project. */
        if (field->value < SUNDOG_TOKEN_NORMAL || field->value > SUNDOG_TOKEN_BYTE)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                               "piece %u is of the unknown kind %" G_GUINT64_FORMAT,
                               file->tokens->len - 1, field->value);
        else
            token->kind = (SundogTokenKind)field->value;
    }
}

/* Ids are of 32 bits with a sign, of which -1 means that there is none. */
static void
take_trainer_field(File *file, const Field *field, SundogReader *reader)
{
    (void)reader;
    if (field->way != VARINT)
        return;
    switch (field->number) {
    case TRAINER_MODEL:
        file->model = field->value;
        break;
    case TRAINER_SPACE_SUFFIX:
        file->vocabulary->add_space_suffix = field->value != 0;
        break;
    case TRAINER_UNKNOWN:
        file->unknown = (int64_t)field->value;
        break;
    case TRAINER_BOS:
        file->bos = (int64_t)field->value;
        break;
    case TRAINER_EOS:
        file->eos = (int64_t)field->value;
        break;
    case TRAINER_PADDING:
        file->padding = (int64_t)field->value;
        break;
    default:
        break;
    }
}

static void
take_normalizer_field(File *file, const Field *field, SundogReader *reader)
{
    SundogVocabulary *vocabulary = file->vocabulary;
    (void)reader;
    if (field->number == NORMALIZER_MAP && field->way == BYTES && field->n_bytes > 0 &&
        field->n_bytes <= UINT32_MAX) {
        g_free(vocabulary->character_map);
        vocabulary->character_map = g_memdup2(field->data, field->n_bytes);
        vocabulary->n_character_map_bytes = (uint32_t)field->n_bytes;
    } else if (field->way == VARINT && field->number == NORMALIZER_PREFIX) {
        vocabulary->add_space_prefix = field->value != 0;
    } else if (field->way == VARINT && field->number == NORMALIZER_MERGE) {
        vocabulary->merge_spaces = field->value != 0;
    } else if (field->way == VARINT && field->number == NORMALIZER_ESCAPE) {
        file->escapes = field->value != 0;
    }
}

/* What is matched in a text as it stands is spelled as it stands there, with spaces. */
static void
spell_with_spaces(File *file, SundogToken *token)
{
    g_autoptr(GString) text = g_string_new_len(token->text, token->length);
    if (token->kind != SUNDOG_TOKEN_USER_DEFINED || g_string_replace(text, SPACE_SIGN, " ", 0) == 0)
        return;
    token->text =
        g_string_chunk_insert_len(file->vocabulary->strings, text->str, (gssize)text->len);
    token->length = (uint32_t)text->len;
}

static bool
read_piece(File *file, const Field *field, GError **error)
{
    const SundogToken token = {.text = "", .kind = SUNDOG_TOKEN_NORMAL};
    if (file->tokens->len == MAX_TOKENS)
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                                "tokenizer.model has more than %u pieces", MAX_TOKENS);
    g_array_append_val(file->tokens, token);
    if (!read_message(field, "tokenizer.model, a piece", file, take_piece_field, error))
        return false;
    spell_with_spaces(file, get_last(file));
    return true;
}

static bool
read_fields(File *file, const uint8_t *data, size_t n_bytes, GError **error)
{
    SundogReader reader;
    Field field;
    bool read = true;
    sundog_reader_init(&reader, data, n_bytes, "tokenizer.model");
    while (read && next_field(&reader, &field)) {
        if (field.way != BYTES)
            continue;
        if (field.number == MODEL_PIECE)
            read = read_piece(file, &field, error);
        else if (field.number == MODEL_TRAINER)
            read = read_message(&field, "tokenizer.model, its trainer", file, take_trainer_field,
                                error);
        else if (field.number == MODEL_NORMALIZER)
            read = read_message(&field, "tokenizer.model, its normalizer", file,
                                take_normalizer_field, error);
    }
    return sundog_reader_finish(&reader, read ? error : NULL) && read;
}

static uint32_t
get_id(const File *file, int64_t id)
{
    return id >= 0 && id < file->tokens->len ? (uint32_t)id : SUNDOG_TOKEN_NONE;
}

static bool
set_kind(File *file, GError **error)
{
    SundogVocabulary *vocabulary = file->vocabulary;
    if (file->model != MODEL_UNIGRAM && file->model != MODEL_BPE)
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                                "tokenizer.model: model_type is %" G_GUINT64_FORMAT
                                ", expected %d (Unigram) or %d (BPE)",
                                file->model, MODEL_UNIGRAM, MODEL_BPE);
    bool is_bpe = file->model == MODEL_BPE;
    if (!file->escapes || (is_bpe && (vocabulary->n_character_map_bytes > 0 ||
                                      vocabulary->merge_spaces || vocabulary->add_space_suffix)))
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                                "tokenizer.model normalizes text in a way that is not known here "
                                "for %s: a tokenizer.json of the same model says it in another",
                                is_bpe ? "BPE" : "Unigram");
    vocabulary->kind = is_bpe ? SUNDOG_TOKENIZER_SCORED_BPE : SUNDOG_TOKENIZER_UNIGRAM;
    return true;
}

static void
set_ids(File *file)
{
    SundogVocabulary *vocabulary = file->vocabulary;
    vocabulary->unknown = get_id(file, file->unknown);
    vocabulary->bos = get_id(file, file->bos);
    vocabulary->eos = get_id(file, file->eos);
    vocabulary->padding = get_id(file, file->padding);
    vocabulary->add_bos = file->model == MODEL_BPE && vocabulary->bos != SUNDOG_TOKEN_NONE;
    vocabulary->add_eos = file->model == MODEL_UNIGRAM && vocabulary->eos != SUNDOG_TOKEN_NONE;
}

SundogVocabulary *
sundog_sentencepiece_read(const uint8_t *data, size_t n_bytes, GError **error)
{
    g_autoptr(SundogVocabulary) vocabulary = sundog_vocabulary_new();
    g_autoptr(GArray) tokens = g_array_new(FALSE, TRUE, sizeof(SundogToken));
    /* What the messages mean where they say nothing. */
    File file = {.vocabulary = vocabulary,
                 .tokens = tokens,
                 .model = MODEL_UNIGRAM,
                 .bos = 1,
                 .eos = 2,
                 .padding = -1,
                 .escapes = true};
    vocabulary->pre_tokenizer = g_strdup("");
    vocabulary->add_space_prefix = vocabulary->add_space_once = vocabulary->merge_spaces = true;
    if (!read_fields(&file, data, n_bytes, error) || !set_kind(&file, error))
        return NULL;
    if (tokens->len == 0) {
        sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                         "tokenizer.model holds no pieces");
        return NULL;
    }
    set_ids(&file);
    vocabulary->n_tokens = tokens->len;
    vocabulary->tokens = (SundogToken *)(void *)g_array_free(g_steal_pointer(&tokens), FALSE);
    sundog_vocabulary_add_end(vocabulary, vocabulary->eos);
    sundog_vocabulary_add_ends_by_spelling(vocabulary);
    return g_steal_pointer(&vocabulary);
}
