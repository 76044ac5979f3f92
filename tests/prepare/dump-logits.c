/*
 * For make-reference.py compare: writes the logits of every position of a prompt, float32,
 * little-endian, [n_tokens, n_vocabulary].
 *
 *   dump-logits GGUF int8|f32 OUTPUT TOKEN…
 */

#include "tests/prepare/core-runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main(int argc, char **argv)
{
    CoreRunner runner;
    if (argc < 5) {
        fprintf(stderr, "usage: dump-logits GGUF int8|f32 OUTPUT TOKEN…\n");
        return 2;
    }
    int32_t n_tokens = argc - 4;
    if (n_tokens > RUNNER_PAGES * 64) {
        fprintf(stderr, "%d tokens, expected %d at most\n", n_tokens, RUNNER_PAGES * 64);
        return 2;
    }
    g_autofree int32_t *tokens = g_new(int32_t, n_tokens);
    for (int32_t i = 0; i < n_tokens; i++)
        tokens[i] = atoi(argv[4 + i]);
    bool quantized = strcmp(argv[2], SUNDOG_CORE_ACTIVATIONS_INT8) == 0;
    core_runner_open(&runner, argv[1], quantized ? SUNDOG_ACTIVATIONS_INT8 : SUNDOG_ACTIVATIONS_F32,
                     2);
    g_autofree float *logits = core_runner_prefill(&runner, tokens, n_tokens, 32);
    gsize n_bytes = (gsize)n_tokens * runner.n_vocabulary * sizeof(float);
    bool ok = g_file_set_contents(argv[3], (const char *)logits, (gssize)n_bytes, NULL);
    core_runner_close(&runner);
    return ok ? 0 : 1;
}
