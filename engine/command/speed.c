/* Measures reading and writing of random tokens, greedily and without an end. */

#include "engine/command/speed.h"

#include <stdlib.h>

static int
compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static SundogSpeed
summarize(double *rates, int n)
{
    qsort(rates, (size_t)n, sizeof *rates, compare_doubles);
    return (SundogSpeed){rates[n / 2], rates[0], rates[n - 1]};
}

static bool
on_token(uint32_t token, void *data)
{
    return true;
}

/* One request; its times are the engine's own. */
static bool
ask(SundogEngineSession *session, int n_prompt, int n_produced, GRand *random, SundogFinish *finish,
    GError **error)
{
    uint32_t n_vocabulary = sundog_engine_session_get_ready(session)->n_vocabulary;
    g_autofree uint32_t *prompt = g_new(uint32_t, n_prompt);
    for (int i = 0; i < n_prompt; i++)
        prompt[i] = (uint32_t)g_rand_int_range(random, 0, (gint32)n_vocabulary);
    SundogSubmit submit = {.prompt = prompt,
                           .n_prompt = (uint32_t)n_prompt,
                           .max_tokens = (uint32_t)n_produced,
                           .top_p = 1,
                           .repetition_penalty = 1,
                           .flags = SUNDOG_SUBMIT_NO_PREFIX | SUNDOG_SUBMIT_NO_DRAFTS};
    return sundog_engine_session_ask(session, &submit, on_token, NULL, finish, error);
}

static void
tell(const SundogSpeedOptions *options, bool prefill, int i)
{
    double part = (double)(i + 1) / (options->n_repeat + 1) / 2;
    if (options->progress != NULL)
        options->progress(prefill ? "prefill" : "decode", prefill ? part : 0.5 + part);
}

/* A prompt of n tokens gives one token more; a token's successor costs one decoding step. */
static bool
measure(SundogEngineSession *session, const SundogSpeedOptions *options, bool prefill,
        SundogSpeed *speed, GError **error)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    g_autofree double *rates = g_new(double, options->n_repeat);
    for (int i = -1; i < options->n_repeat; i++) {
        SundogFinish finish;
        tell(options, prefill, i);
        if (!ask(session, prefill ? options->n_prefill : 1, prefill ? 1 : options->n_decode + 1,
                 random, &finish, error))
            return false;
        if (i >= 0)
            rates[i] = prefill ? options->n_prefill * 1e6 / (double)MAX(finish.prefill_us, 1)
                               : options->n_decode * 1e6 / (double)MAX(finish.decode_us, 1);
    }
    *speed = summarize(rates, options->n_repeat);
    return true;
}

bool
sundog_speed_measure(SundogEngineSession *session, const SundogSpeedOptions *options,
                     SundogSpeed *prefill, SundogSpeed *decode, GError **error)
{
    return measure(session, options, true, prefill, error) &&
           measure(session, options, false, decode, error);
}
