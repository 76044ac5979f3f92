/* One turn of a conversation on the terminal. */

#include "engine/command/turn.h"

#include "engine/command/terminal.h"
#include "engine/text/chat.h"
#include "engine/text/decoder.h"
#include <stdio.h>

typedef struct {
    SundogDecoder *decoder;
    GString *text; /* the whole answer */
    size_t n_printed;
} Printer;

bool
sundog_turn_sampling_check(const SundogTurnSampling *sampling, GError **error)
{
    const struct {
        const char *name;
        double value, lowest, highest;
    } rows[] = {
        {"--temperature", sampling->temperature, -1, 10},
        {"--top-p", sampling->top_p, -1, 1},
        {"--min-p", sampling->min_p, -1, 1},
        {"--repetition-penalty", sampling->repetition_penalty, -1, 10},
        {"--top-k", (double)sampling->top_k, -1, G_MAXINT32},
        {"--seed", (double)sampling->seed, -1, (double)G_MAXINT64},
        {"--max-tokens", (double)sampling->max_tokens, 0, G_MAXINT32},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (rows[i].value >= rows[i].lowest && rows[i].value <= rows[i].highest)
            continue;
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s is %g to %g, not %g",
                    rows[i].name, rows[i].lowest, rows[i].highest, rows[i].value);
        return false;
    }
    return true;
}

GArray *
sundog_turn_encode(const SundogEngineSession *session, JsonArray *messages, GError **error)
{
    const SundogCoreText *text = sundog_engine_session_get_text(session);
    if (text->chat_template == NULL) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                            "this core has no chat template: it completes text with --raw");
        return NULL;
    }
    SundogChat chat = {.messages = messages, .add_generation_prompt = true};
    return sundog_chat_encode(text->chat_template, text->tokenizer, &chat, NULL, error);
}

static void
print_new(Printer *printer)
{
    fwrite(printer->text->str + printer->n_printed, 1, printer->text->len - printer->n_printed,
           stdout);
    printer->n_printed = printer->text->len;
    fflush(stdout);
}

static bool
on_token(uint32_t token, void *data)
{
    Printer *printer = data;
    bool more = sundog_decoder_feed(printer->decoder, token, printer->text);
    print_new(printer);
    return more && !ferror(stdout);
}

/* What the person said, else what the core says, else what changes nothing. */
static double
choose(const SundogCoreText *text, double said, const char *key, double neutral)
{
    return said >= 0 ? said : sundog_core_text_get_sampling(text, key, neutral);
}

static uint64_t
choose_seed(const SundogTurnSampling *sampling)
{
    if (sampling->seed >= 0)
        return (uint64_t)sampling->seed;
    return (uint64_t)g_random_int() << 32 | g_random_int();
}

bool
sundog_turn_answer(SundogEngineSession *session, const GArray *prompt,
                   const SundogTurnSampling *sampling, char **answer, SundogFinish *finish,
                   GError **error)
{
    const SundogCoreText *text = sundog_engine_session_get_text(session);
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(text->tokenizer);
    const SundogReady *ready = sundog_engine_session_get_ready(session);
    SundogSubmit submit = {
        .prompt = (const uint32_t *)(const void *)prompt->data,
        .n_prompt = prompt->len,
        .max_tokens =
            sampling->max_tokens > 0 ? (uint32_t)sampling->max_tokens : ready->context_length,
        .ends = vocabulary->ends,
        .n_ends = vocabulary->n_ends,
        .temperature = choose(text, sampling->temperature, "temperature", 1),
        .top_p = choose(text, sampling->top_p, "top_p", 1),
        .min_p = choose(text, sampling->min_p, "min_p", 0),
        .repetition_penalty = choose(text, sampling->repetition_penalty, "repetition_penalty", 1),
        .top_k = (int32_t)choose(text, (double)sampling->top_k, "top_k", 0),
        .seed = choose_seed(sampling),
    };
    Printer printer = {.decoder = sundog_decoder_new(text->tokenizer, NULL),
                       .text = g_string_new(NULL)};
    bool good = sundog_engine_session_ask(session, &submit, on_token, &printer, finish, error);
    if (good)
        sundog_decoder_finish(printer.decoder, finish->reason == SUNDOG_FINISH_STOP, printer.text);
    print_new(&printer);
    sundog_decoder_free(printer.decoder);
    g_autofree char *whole = g_string_free(printer.text, FALSE);
    if (good && answer != NULL)
        *answer = g_steal_pointer(&whole);
    return good;
}

static double
rate(uint64_t n, uint64_t time_us)
{
    return time_us > 0 ? (double)n * 1e6 / (double)time_us : 0;
}

void
sundog_turn_tell_timing(const SundogFinish *finish)
{
    /* The first token comes out of the prefill; the others take the decoding time. */
    uint64_t n_decoded = finish->n_produced > 0 ? finish->n_produced - 1 : 0;
    sundog_terminal_note("%u tokens, %.1f tokens/s; prompt of %u tokens (%u reused), %.1f tokens/s",
                         finish->n_produced, rate(n_decoded, finish->decode_us), finish->n_prompt,
                         finish->n_cached,
                         rate(finish->n_prompt - finish->n_cached, finish->prefill_us));
}
