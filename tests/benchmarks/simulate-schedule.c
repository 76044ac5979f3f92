/*
 * simulate-schedule TRACE [--prefill TOKENS_PER_SECOND] [--decode TOKENS_PER_SECOND] [--context US]
 *                   [--drafts N [--repeats SHARE] [--draft-decode TOKENS_PER_SECOND --agrees SHARE]]
 *
 * Plays a trace through the scheduler on a machine of the given speeds (as `sundog bench` measures
 * them) and prints what its requests would wait for, beside what no schedule could beat; with guesses, of
 * which n-grams are right for a share of the answers' tokens and a small core for another, beside the same
 * without. A line of the trace is a request: its arrival in milliseconds, the tokens of its prompt and
 * of its answer.
 */

#include "tests/schedule/simulation.h"
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_CONTEXT 32768

static bool
read_trace(const char *path, GArray *requests, GError **error)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, error))
        return false;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int i = 0; lines[i] != NULL; i++) {
        double arrival_ms;
        SimulatedRequest request;
        if (*g_strstrip(lines[i]) == '\0' || *lines[i] == '#')
            continue;
        if (sscanf(lines[i], "%lf %u %u", &arrival_ms, &request.n_prompt, &request.n_answer) != 3 ||
            request.n_prompt == 0 || request.n_answer == 0 ||
            request.n_prompt + request.n_answer > MAX_CONTEXT) {
            g_set_error(
                error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                "%s:%d: three numbers are needed: milliseconds, prompt tokens, answer tokens", path,
                i + 1);
            return false;
        }
        request.arrival_us = (int64_t)(arrival_ms * 1000);
        g_array_append_val(requests, request);
    }
    return requests->len > 0;
}

static int
compare_arrival(gconstpointer a, gconstpointer b)
{
    const SimulatedRequest *first = a, *second = b;
    return first->arrival_us < second->arrival_us ? -1 : first->arrival_us > second->arrival_us;
}

static void
print_result(const SimulationResult *result, guint n_requests, bool with_guesses)
{
    printf("%u requests, %" G_GUINT64_FORMAT " steps\n", n_requests, result->n_steps);
    printf("first token     p50 %9.1f ms   p99 %9.1f ms   alone %9.1f ms\n",
           (double)result->first_p50_us / 1e3, (double)result->first_p99_us / 1e3,
           (double)result->first_bound_us / 1e3);
    printf("between tokens  p50 %9.1f ms   p99 %9.1f ms   most  %9.1f ms\n",
           (double)result->gap_p50_us / 1e3, (double)result->gap_p99_us / 1e3,
           (double)result->gap_max_us / 1e3);
    printf("last end            %9.2f s", (double)result->end_us / 1e6);
    if (!with_guesses) /* a bound of a row a token */
        printf("    bound %7.2f s", (double)result->end_bound_us / 1e6);
    printf("\n");
    if (with_guesses) {
        printf("guesses  %10" G_GUINT64_FORMAT "      right %8" G_GUINT64_FORMAT "  (%.0f%%)\n",
               result->n_drafted, result->n_accepted,
               100.0 * (double)result->n_accepted / (double)MAX(result->n_drafted, 1));
    }
}

int
main(int argc, char **argv)
{
    double prefill = 3000, decode = 500, context_us = 40, draft_decode = 0, repeats = 0, agrees = 0;
    gint n_drafts = 0;
    const GOptionEntry entries[] = {
        {"prefill", 0, 0, G_OPTION_ARG_DOUBLE, &prefill, "tokens a second", "N"},
        {"decode", 0, 0, G_OPTION_ARG_DOUBLE, &decode, "tokens a second", "N"},
        {"context", 0, 0, G_OPTION_ARG_DOUBLE, &context_us,
         "microseconds a row for each 1,000 positions before it", "US"},
        {"drafts", 0, 0, G_OPTION_ARG_INT, &n_drafts, "guesses that a step may check", "N"},
        {"repeats", 0, 0, G_OPTION_ARG_DOUBLE, &repeats, "of tokens that n-grams guess", "SHARE"},
        {"draft-decode", 0, 0, G_OPTION_ARG_DOUBLE, &draft_decode, "of a small core", "N"},
        {"agrees", 0, 0, G_OPTION_ARG_DOUBLE, &agrees, "of tokens that it guesses", "SHARE"},
        {NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new("TRACE");
    g_autoptr(GArray) requests = g_array_new(FALSE, FALSE, sizeof(SimulatedRequest));
    g_autoptr(GError) error = NULL;
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 2 ||
        !read_trace(argv[1], requests, &error)) {
        fprintf(stderr, "simulate-schedule: %s\n", error ? error->message : "one TRACE is needed");
        return EXIT_FAILURE;
    }
    g_array_sort(requests, compare_arrival);
    SimulatedMachine machine = {.step_us = MAX(1e6 / decode - 1e6 / prefill, 0),
                                .row_us = 1e6 / prefill,
                                .context_us = context_us,
                                .max_tokens = 512,
                                .max_sequences = 64,
                                .context_length = MAX_CONTEXT,
                                .pool_pages = 64 * MAX_CONTEXT / 64,
                                .repeats = repeats,
                                .draft_us = draft_decode > 0 ? 1e6 / draft_decode : 0,
                                .agrees = agrees};
    SimulationResult result =
        simulation_run(&machine, (const SimulatedRequest *)requests->data, requests->len);
    print_result(&result, requests->len, false);
    if (n_drafts > 0) {
        machine.max_drafts = (uint32_t)n_drafts;
        result = simulation_run(&machine, (const SimulatedRequest *)requests->data, requests->len);
        printf("with guesses\n");
        print_result(&result, requests->len, true);
    }
    return EXIT_SUCCESS;
}
