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
#define UNKNOWN SIZE_MAX

/* A token, by where it ends in the bytes of all tokens, and by where the characters that it has a part of
 * begin and end in the text. */
typedef struct {
    size_t end;
    size_t text_begin;
    size_t text_end; /* UNKNOWN until its last byte is text */
} Hidden;

struct SundogDecoder {
    const SundogTokenizer *tokenizer;
    SundogStopMatcher *matcher;
    bool begins;           /* The next byte is the text's first. */
    const uint32_t *shown; /* [n_shown] control tokens that are spelled out */
    size_t n_shown;
    GByteArray *bytes; /* of the token and the incomplete character before it */
    GString *held;     /* whole characters that may begin a stop string */
    const char *stop;  /* the one that was met, owned by the matcher */
    GArray *hidden;    /* of Hidden, tokens that are not all shown, in order */
    size_t n_moved;    /* bytes that have become text, or were proved to be none */
    size_t n_given;    /* bytes of text that were shown */
    size_t n_shown_tokens;
};

SundogDecoder *
sundog_decoder_new(const SundogTokenizer *tokenizer, const char *const *stops)
{
    SundogDecoder *decoder = g_new0(SundogDecoder, 1);
    decoder->tokenizer = tokenizer;
    decoder->matcher = sundog_stop_matcher_new(stops);
    decoder->bytes = g_byte_array_new();
    decoder->held = g_string_new(NULL);
    decoder->hidden = g_array_new(FALSE, FALSE, sizeof(Hidden));
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
    g_array_unref(decoder->hidden);
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

/* Tells of the tokens all of whose bytes have become text where they end in it. */
static void
place_tokens(SundogDecoder *decoder)
{
    for (guint i = decoder->hidden->len; i-- > 0;) {
        Hidden *token = &g_array_index(decoder->hidden, Hidden, i);
        if (token->text_end != UNKNOWN)
            break;
        if (token->end <= decoder->n_moved)
            token->text_end = decoder->n_given + decoder->held->len;
    }
}

static void
show_tokens(SundogDecoder *decoder)
{
    guint n = 0;
    for (; n < decoder->hidden->len; n++) {
        const Hidden *token = &g_array_index(decoder->hidden, Hidden, n);
        if (token->text_end == UNKNOWN || token->text_end > decoder->n_given)
            break;
    }
    decoder->n_shown_tokens += n;
    if (n > 0)
        g_array_remove_range(decoder->hidden, 0, n);
}

/* At a stop string, which begins where the text ends now: a token counts where it begins before that. */
static void
show_tokens_before_stop(SundogDecoder *decoder)
{
    for (guint i = 0; i < decoder->hidden->len; i++)
        if (g_array_index(decoder->hidden, Hidden, i).text_begin < decoder->n_given)
            decoder->n_shown_tokens++;
    g_array_set_size(decoder->hidden, 0);
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
        decoder->n_moved += length;
        place_tokens(decoder);
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
    decoder->n_given += n_shown;
    show_tokens(decoder);
}

/* Once a stop was met, what stands before it is shown, and whatever follows is dropped. */
static void
show_until_stop(SundogDecoder *decoder, GString *text)
{
    size_t n_valid = sundog_utf8_valid_prefix(decoder->held->str, decoder->held->len);
    g_string_append_len(text, decoder->held->str, (gssize)n_valid);
    decoder->n_given += n_valid;
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
    Hidden hidden = {decoder->n_moved + decoder->bytes->len, decoder->n_given + decoder->held->len,
                     UNKNOWN};
    g_array_append_val(decoder->hidden, hidden);
    place_tokens(decoder);
    hold_characters(decoder);
    if (decoder->stop != NULL) {
        show_until_stop(decoder, text);
        show_tokens_before_stop(decoder);
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
    if (decoder->stop == NULL) {
        decoder->n_shown_tokens += decoder->hidden->len;
        g_array_set_size(decoder->hidden, 0);
    }
}

size_t
sundog_decoder_get_n_shown(const SundogDecoder *decoder)
{
    return decoder->n_shown_tokens;
}

const char *
sundog_decoder_get_stop(const SundogDecoder *decoder)
{
    return decoder->stop;
}
