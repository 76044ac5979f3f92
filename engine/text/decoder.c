/*
 * Three stages: a token's bytes join those of an incomplete character; whole characters, and U+FFFD for
 * bytes that are proved to be none, join the text that is held back; what can no longer begin a stop
 * string is shown.
 */

#include "engine/text/decoder.h"

#include "engine/text/stop-matcher.h"
#include "engine/text/utf8.h"

#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"

struct SundogDecoder {
    const SundogTokenizer *tokenizer;
    SundogStopMatcher *matcher;
    bool begins;           /* The next byte is the text's first. */
    const uint32_t *shown; /* [n_shown] control tokens that are spelled out */
    size_t n_shown;
    GByteArray *bytes; /* of the token and the incomplete character before it */
    GString *held;     /* whole characters that may begin a stop string */
    const char *stop;  /* the one that was met, owned by the matcher */
};

SundogDecoder *
sundog_decoder_new(const SundogTokenizer *tokenizer, const char *const *stops)
{
    SundogDecoder *decoder = g_new0(SundogDecoder, 1);
    decoder->tokenizer = tokenizer;
    decoder->matcher = sundog_stop_matcher_new(stops);
    decoder->bytes = g_byte_array_new();
    decoder->held = g_string_new(NULL);
    return decoder;
}

void
sundog_decoder_free(SundogDecoder *decoder)
{
    if (decoder == NULL)
        return;
    sundog_stop_matcher_free(decoder->matcher);
    g_byte_array_unref(decoder->bytes);
    g_string_free(decoder->held, TRUE);
    g_free(decoder);
}

/* Adds a whole character to what is held; at a stop string, takes that string off again. */
static void
hold(SundogDecoder *decoder, const char *character, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes && decoder->stop == NULL; i++) {
        g_string_append_c(decoder->held, character[i]);
        decoder->stop = sundog_stop_matcher_feed(decoder->matcher, character[i]);
    }
    if (decoder->stop != NULL)
        g_string_truncate(decoder->held, decoder->held->len - strlen(decoder->stop));
}

/* Moves what is whole, or proved broken, out of the bytes. */
static void
hold_characters(SundogDecoder *decoder)
{
    const char *bytes = (const char *)decoder->bytes->data;
    guint pos = 0;
    while (pos < decoder->bytes->len && decoder->stop == NULL) {
        SundogUtf8State state;
        size_t length = sundog_utf8_scan(bytes + pos, decoder->bytes->len - pos, &state);
        if (state == SUNDOG_UTF8_INCOMPLETE)
            break;
        if (state == SUNDOG_UTF8_WHOLE)
            hold(decoder, bytes + pos, length);
        else
            hold(decoder, REPLACEMENT, strlen(REPLACEMENT));
        pos += (guint)length;
    }
    g_byte_array_remove_range(decoder->bytes, 0, pos);
}

/* Shows all but the last n_held bytes, and no part of a character: a stop that is no UTF-8 itself may
 * begin inside one. */
static void
show(SundogDecoder *decoder, size_t n_held, GString *text)
{
    size_t n_shown = decoder->held->len - n_held;
    while (n_shown > 0 && n_shown < decoder->held->len &&
           ((uint8_t)decoder->held->str[n_shown] & 0xC0) == 0x80)
        n_shown--;
    g_string_append_len(text, decoder->held->str, (gssize)n_shown);
    g_string_erase(decoder->held, 0, (gssize)n_shown);
}

/* Once a stop was met, what stands before it is shown, and whatever follows is dropped. */
static void
show_until_stop(SundogDecoder *decoder, GString *text)
{
    size_t n_valid = sundog_utf8_valid_prefix(decoder->held->str, decoder->held->len);
    g_string_append_len(text, decoder->held->str, (gssize)n_valid);
    g_string_truncate(decoder->held, 0);
    g_byte_array_set_size(decoder->bytes, 0);
}

void
sundog_decoder_begin_text(SundogDecoder *decoder)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(decoder->tokenizer);
    decoder->begins =
        vocabulary->add_space_prefix || vocabulary->kind == SUNDOG_TOKENIZER_WORD_PIECE;
}

static void
leave_added_space_out(SundogDecoder *decoder)
{
    if (!decoder->begins || decoder->bytes->len == 0)
        return;
    decoder->begins = false;
    if (decoder->bytes->data[0] == ' ')
        g_byte_array_remove_index(decoder->bytes, 0);
}

void
sundog_decoder_show(SundogDecoder *decoder, const uint32_t *tokens, size_t n_tokens)
{
    decoder->shown = tokens;
    decoder->n_shown = n_tokens;
}

static bool
is_shown(const SundogDecoder *decoder, uint32_t token)
{
    for (size_t i = 0; i < decoder->n_shown; i++)
        if (decoder->shown[i] == token)
            return true;
    return false;
}

bool
sundog_decoder_feed(SundogDecoder *decoder, uint32_t token, GString *text)
{
    if (decoder->stop != NULL)
        return false;
    sundog_tokenizer_append_bytes(decoder->tokenizer, token, is_shown(decoder, token),
                                  decoder->bytes);
    leave_added_space_out(decoder);
    hold_characters(decoder);
    if (decoder->stop != NULL) {
        show_until_stop(decoder, text);
        return false;
    }
    show(decoder, sundog_stop_matcher_get_n_held(decoder->matcher), text);
    return true;
}

void
sundog_decoder_finish(SundogDecoder *decoder, bool whole, GString *text)
{
    if (decoder->stop == NULL && whole && decoder->bytes->len != 0)
        hold(decoder, REPLACEMENT, strlen(REPLACEMENT));
    show_until_stop(decoder, text);
}

const char *
sundog_decoder_get_stop(const SundogDecoder *decoder)
{
    return decoder->stop;
}
