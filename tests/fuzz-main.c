/*
 * Runs a fuzz target as a plain test: mutates its seeds for two seconds with fixed random numbers, so
 * that every run begins with the same inputs; and stops at a number of them, so that a faster machine
 * meets none that were never run before.
 * A target defines LLVMFuzzerTestOneInput() and its seeds by either or both of
 *
 *     const char *const fuzz_seeds[] = {"text", …, NULL};
 *     void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));
 *
 * or takes files as arguments; `--seconds N` first runs it for longer by hand. With -Dfuzz=true the same target links with libFuzzer instead. The
 * input that crashes is printed in hexadecimal on standard error.
 */

#include <glib.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS 2
#define MAX_RUNS 300000
#define MAX_INPUT_BYTES (64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
extern const char *const fuzz_seeds[] __attribute__((weak));
void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes)) __attribute__((weak));

static GPtrArray *seeds; /* of GBytes */
static uint8_t input[MAX_INPUT_BYTES];
static size_t n_input;

static void
add_seed(const void *data, size_t n_bytes)
{
    g_ptr_array_add(seeds, g_bytes_new(data, MIN(n_bytes, MAX_INPUT_BYTES)));
}

static void
add_all_seeds(int n_files, char **files)
{
    for (const char *const *text = fuzz_seeds; text && *text; text++)
        add_seed(*text, strlen(*text));
    if (fuzz_make_seeds)
        fuzz_make_seeds(add_seed);
    for (int i = 0; i < n_files; i++) {
        g_autofree char *data = NULL;
        gsize n_bytes = 0;
        if (g_file_get_contents(files[i], &data, &n_bytes, NULL))
            add_seed(data, n_bytes);
    }
    add_seed("", 0);
}

static void
print_input(int number)
{
    static const char digits[] = "0123456789abcdef";
    static const char head[] = "\nthe input that failed:\n";
    ssize_t ignored = write(STDERR_FILENO, head, sizeof head - 1);
    for (size_t i = 0; i < n_input; i++) {
        char pair[2] = {digits[input[i] >> 4], digits[input[i] & 15]};
        ignored = write(STDERR_FILENO, pair, sizeof pair);
    }
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

static size_t
below(GRand *random, size_t limit)
{
    return limit > 0 ? g_rand_int(random) % limit : 0;
}

static void
take_seed(GRand *random)
{
    gsize n_bytes;
    const void *data = g_bytes_get_data(seeds->pdata[below(random, seeds->len)], &n_bytes);
    n_input = n_bytes;
    if (n_bytes > 0)
        memcpy(input, data, n_bytes);
}

static void
insert_bytes(GRand *random)
{
    size_t n_wanted = 1 + below(random, 16); /* MIN would ask twice */
    size_t n = MIN(n_wanted, MAX_INPUT_BYTES - n_input);
    size_t at = below(random, n_input + 1);
    memmove(input + at + n, input + at, n_input - at);
    for (size_t i = 0; i < n; i++)
        input[at + i] = (uint8_t)g_rand_int(random);
    n_input += n;
}

static void
remove_bytes(GRand *random)
{
    size_t at = below(random, n_input);
    size_t n_wanted = 1 + below(random, 16);
    size_t n = MIN(n_wanted, n_input - at);
    memmove(input + at, input + at + n, n_input - at - n);
    n_input -= n;
}

/* The numbers that lengths and counts are most often wrong at. */
static void
write_number(GRand *random)
{
    static const uint32_t numbers[] = {0,      1,          0x7f,       0x80,      0xff,
                                       0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
    uint32_t number = numbers[below(random, G_N_ELEMENTS(numbers))];
    size_t at = below(random, n_input);
    memcpy(input + at, &number, MIN(sizeof number, n_input - at));
}

static void
splice_seed(GRand *random)
{
    gsize n_bytes;
    const uint8_t *data = g_bytes_get_data(seeds->pdata[below(random, seeds->len)], &n_bytes);
    size_t from = below(random, n_bytes);
    size_t at = below(random, n_input + 1);
    size_t n = MIN(n_bytes - from, MAX_INPUT_BYTES - at);
    if (n > 0)
        memcpy(input + at, data + from, n);
    n_input = at + n;
}

static void
mutate(GRand *random)
{
    switch (below(random, n_input > 0 ? 7 : 1)) {
    case 0:
        insert_bytes(random);
        break;
    case 1:
        remove_bytes(random);
        break;
    case 2:
        write_number(random);
        break;
    case 3:
        splice_seed(random);
        break;
    case 4:
        n_input = below(random, n_input);
        break;
    case 5:
        input[below(random, n_input)] ^= (uint8_t)(1u << below(random, 8));
        break;
    default:
        input[below(random, n_input)] = (uint8_t)g_rand_int(random);
        break;
    }
}

int
main(int argc, char **argv)
{
    signal(SIGABRT, print_input);
    signal(SIGSEGV, print_input);
    signal(SIGTRAP, print_input);
    int64_t n_seconds = SECONDS;
    uint64_t max_runs = MAX_RUNS;
    if (argc > 2 && strcmp(argv[1], "--seconds") == 0) {
        n_seconds = g_ascii_strtoll(argv[2], NULL, 10);
        max_runs = UINT64_MAX;
        argc -= 2;
        argv += 2;
    }
    seeds = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    add_all_seeds(argc - 1, argv + 1);
    GRand *random = g_rand_new_with_seed(20260101);
    int64_t end_us = g_get_monotonic_time() + n_seconds * G_USEC_PER_SEC;
    for (guint i = 0; i < seeds->len; i++) { /* each as it is first */
        gsize n_bytes;
        const void *data = g_bytes_get_data(seeds->pdata[i], &n_bytes);
        n_input = n_bytes;
        memcpy(input, data ? data : "", n_bytes);
        LLVMFuzzerTestOneInput(input, n_input);
    }
    uint64_t n_runs = 0;
    while (n_runs < max_runs && g_get_monotonic_time() < end_us) {
        take_seed(random);
        for (size_t n = 1 + below(random, 8); n > 0; n--)
            mutate(random);
        LLVMFuzzerTestOneInput(input, n_input);
        n_runs++;
    }
    g_print("1..1\nok 1 %u seeds, %" G_GUINT64_FORMAT " mutated inputs\n", seeds->len, n_runs);
    g_rand_free(random);
    g_ptr_array_unref(seeds);
    return 0;
}
