/*
 * perplexity MODEL.gguf int8|f32|q8 TEXT
 *
 * How well a model prepared here foretells a text, measured as llama.cpp's llama-perplexity does: the
 * text is cut into chunks of CHUNK tokens, each begins with BOS where the vocabulary wants one, and
 * tokens of its second half count; q8 is int8 with keys and values in 8 bits. Prints perplexity, its error, and how many tokens counted.
 */

#include "engine/model/gguf-vocabulary.h"
#include "engine/text/tokenizer/tokenizer.h"
#include "tests/prepare/core-runner.h"
#include <math.h>
#include <string.h>

#define CHUNK 256
#define STEP 64

/* Sums over the tokens that count. */
typedef struct {
    double nats;
    double nats_squared;
    uint32_t n;
} Score;

static GArray *
tokenize(const char *model, const char *path, uint32_t *bos)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    gsize n_bytes;
    g_autoptr(SundogGguf) gguf = sundog_gguf_open(model, &error);
    g_assert_no_error(error);
    SundogVocabulary *vocabulary = sundog_gguf_dup_vocabulary(gguf, &error);
    g_assert_no_error(error);
    g_autoptr(SundogTokenizer) tokenizer = sundog_tokenizer_new(vocabulary, &error);
    g_assert_no_error(error);
    g_file_get_contents(path, &text, &n_bytes, &error);
    g_assert_no_error(error);
    GArray *tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    sundog_tokenizer_encode(tokenizer, text, n_bytes, SUNDOG_TOKENIZE_ADD, tokens);
    vocabulary = (SundogVocabulary *)sundog_tokenizer_get_vocabulary(tokenizer);
    *bos = vocabulary->add_bos ? vocabulary->bos : SUNDOG_TOKEN_NONE;
    return tokens;
}

/* -log p(token) under the softmax of logits [n]. */
static double
count_nats(const float *logits, uint32_t n, uint32_t token)
{
    double best = logits[0], sum = 0;
    for (uint32_t i = 1; i < n; i++)
        best = MAX(best, logits[i]);
    for (uint32_t i = 0; i < n; i++)
        sum += exp(logits[i] - best);
    return log(sum) + best - logits[token];
}

static void
score_chunk(CoreRunner *runner, const int32_t tokens[CHUNK], Score *score)
{
    g_autofree float *logits = core_runner_prefill(runner, tokens, CHUNK, STEP);
    for (int i = CHUNK / 2; i < CHUNK - 1; i++) {
        double nats = count_nats(logits + (size_t)i * runner->n_vocabulary, runner->n_vocabulary,
                                 (uint32_t)tokens[i + 1]);
        score->nats += nats;
        score->nats_squared += nats * nats;
        score->n++;
    }
}

int
main(int argc, char **argv)
{
    if (argc != 4) {
        g_printerr("usage: perplexity MODEL.gguf int8|f32|q8 TEXT\n");
        return 2;
    }
    uint32_t bos;
    CoreRunner runner;
    Score score = {0};
    g_autoptr(GArray) tokens = tokenize(argv[1], argv[3], &bos);
    bool is_exact = strcmp(argv[2], SUNDOG_CORE_ACTIVATIONS_F32) == 0;
    SundogActivations activations = is_exact ? SUNDOG_ACTIVATIONS_F32 : SUNDOG_ACTIVATIONS_INT8;
    bool is_narrow = strcmp(argv[2], sundog_dtype_name(SUNDOG_DTYPE_Q8)) == 0;
    unsigned n_threads = g_get_num_processors();
    if (is_narrow)
        core_runner_open_narrow(&runner, argv[1], activations, n_threads);
    else
        core_runner_open(&runner, argv[1], activations, n_threads);
    for (guint first = 0; first + CHUNK <= tokens->len; first += CHUNK) {
        int32_t chunk[CHUNK];
        memcpy(chunk, &g_array_index(tokens, int32_t, first), sizeof chunk);
        if (bos != SUNDOG_TOKEN_NONE)
            chunk[0] = (int32_t)bos;
        score_chunk(&runner, chunk, &score);
    }
    core_runner_close(&runner);
    double mean = score.nats / score.n;
    double error = sqrt((score.nats_squared / score.n - mean * mean) / (score.n - 1));
    g_print("%.4f %.4f %u\n", exp(mean), exp(mean) * error, score.n);
    return 0;
}
