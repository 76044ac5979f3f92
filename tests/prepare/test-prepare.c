/* Preparing: what is written, what is refused before anything is written, and what is left behind. */

#include "tests/prepare/core-runner.h"
#include "tests/prepare/fixture.h"
#include "tests/temporary-folder.h"

#include "engine/core/step.h"
#include "engine/format/error.h"
#include "kernels/contract/layout.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

typedef struct {
    char *folder; /* a temporary one; the core goes to `core` below it */
    char *core;
    SundogKeyring *keyring;
    SundogModel *model;
} Fixtures;

static void
fixtures_init(Fixtures *fixtures, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *gguf = g_strdup_printf("tiny/%s.gguf", name);
    g_autofree char *path = fixture_dup_path(gguf);
    fixtures->folder = g_dir_make_tmp("sundog-prepare.XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *keys = g_build_filename(fixtures->folder, "keys", NULL);
    fixtures->core = g_build_filename(fixtures->folder, "cores", "core", NULL);
    g_autofree char *cores = g_path_get_dirname(fixtures->core);
    g_assert_cmpint(g_mkdir_with_parents(cores, 0700), ==, 0);
    fixtures->keyring = sundog_keyring_open(keys, &error);
    g_assert_no_error(error);
    fixtures->model = sundog_model_open(path, &error);
    g_assert_no_error(error);
}

static void
fixtures_clear(Fixtures *fixtures)
{
    sundog_model_free(fixtures->model);
    sundog_keyring_free(fixtures->keyring);
    temporary_folder_remove(fixtures->folder);
    g_free(fixtures->core);
    g_free(fixtures->folder);
}

static bool
prepare(Fixtures *fixtures, const SundogPrepareOptions *options, GError **error)
{
    return sundog_prepare(fixtures->model, fixtures->core, fixtures->keyring, options, error);
}

static SundogCore *
open_core(const Fixtures *fixtures)
{
    g_autoptr(GError) error = NULL;
    SundogCore *core = sundog_core_open(fixtures->core, fixtures->keyring, &error);
    g_assert_no_error(error);
    return core;
}

static void
assert_nothing_left(const Fixtures *fixtures)
{
    g_autofree char *cores = g_path_get_dirname(fixtures->core);
    g_autoptr(GDir) folder = g_dir_open(cores, 0, NULL);
    g_assert_nonnull(folder);
    g_assert_cmpstr(g_dir_read_name(folder), ==, NULL);
}

typedef struct {
    double fraction;
    char *phases; /* in the order in which they came, each once */
    GCancellable *cancel_at_weights;
} Progress;

static void
note_progress(const char *phase, double fraction, void *data)
{
    Progress *progress = data;
    g_assert_cmpfloat(fraction, >=, progress->fraction);
    g_assert_cmpfloat(fraction, <=, 1);
    progress->fraction = fraction;
    if (progress->phases == NULL || !g_str_has_suffix(progress->phases, phase)) {
        char *longer =
            g_strconcat(progress->phases != NULL ? progress->phases : "", " ", phase, NULL);
        g_free(progress->phases);
        progress->phases = longer;
    }
    if (progress->cancel_at_weights != NULL && strcmp(phase, "weights") == 0 && fraction > 0.3)
        g_cancellable_cancel(progress->cancel_at_weights);
}

static void
test_progress(void)
{
    Fixtures fixtures;
    Progress progress = {0};
    g_autoptr(GError) error = NULL;
    fixtures_init(&fixtures, "q4_1-gqa-yarn");
    const SundogPrepareOptions options = {
        .name = "tiny", .progress = note_progress, .data = &progress};
    prepare(&fixtures, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(progress.fraction, ==, 1);
    g_assert_cmpstr(progress.phases, ==, " plan weights text sign");
    g_free(progress.phases);
    fixtures_clear(&fixtures);
}

static void
test_estimate(void)
{
    Fixtures fixtures;
    SundogPrepareEstimate estimate;
    g_autoptr(GError) error = NULL;
    fixtures_init(&fixtures, "q4_1-gqa-yarn");
    const SundogPrepareOptions options = {.name = "tiny"};
    sundog_prepare_estimate(fixtures.model, &options, &estimate, &error);
    g_assert_no_error(error);
    assert_nothing_left(&fixtures);
    prepare(&fixtures, &options, &error);
    g_assert_no_error(error);
    g_autoptr(SundogCore) core = open_core(&fixtures);
    double actual = (double)sundog_package_get_bytes(sundog_core_get_package(core));
    g_assert_cmpfloat(estimate.core_bytes, >, 0.95 * actual);
    g_assert_cmpfloat(estimate.core_bytes, <, 1.05 * actual);
    g_assert_cmpuint(estimate.page_bytes, ==, sundog_core_get_cache(core)->page_bytes);
    g_assert_cmpuint(estimate.memory_bytes, ==,
                     sundog_core_get_info(core)->weight_bytes + sundog_core_measure_arena(core, 0));
    fixtures_clear(&fixtures);
}

/* Every matrix holds the very bytes of the model's tensor, and every vector its values. */
static void
check_matrix(const SundogCore *core, const SundogTensor *tensor)
{
    const uint8_t *weights = g_bytes_get_data(sundog_core_get_weights(core), NULL);
    const SundogCoreWeight *weight = sundog_core_find_weight(core, tensor->name);
    g_assert_nonnull(weight);
    if (weight->layout == SUNDOG_LAYOUT_DENSE_F32) {
        g_assert_cmpuint(tensor->type, ==, SUNDOG_GGUF_F32);
        g_assert_cmpmem(weights + weight->offset, tensor->n_bytes, tensor->data, tensor->n_bytes);
        return;
    }
    size_t row_bytes = tensor->n_bytes / tensor->n_rows;
    size_t panel_bytes = sundog_layout_panel_bytes(weight->layout, weight->n_columns);
    g_autofree uint8_t *rows = g_malloc(SUNDOG_PANEL_ROWS * row_bytes);
    for (int64_t row = 0; row < weight->n_rows; row += SUNDOG_PANEL_ROWS) {
        int64_t n = MIN(SUNDOG_PANEL_ROWS, weight->n_rows - row);
        sundog_layout_unpack_panel(weight->layout,
                                   weights + weight->offset +
                                       (size_t)(row / SUNDOG_PANEL_ROWS) * panel_bytes,
                                   n, weight->n_columns, rows);
        g_assert_cmpmem(rows, (size_t)n * row_bytes, tensor->data + (size_t)row * row_bytes,
                        (size_t)n * row_bytes);
    }
}

static void
check_weights(const SundogModel *model, const SundogCore *core)
{
    uint32_t n_found = 0;
    uint32_t n_layers = sundog_model_get_dimensions(model)->n_layers;
    for (int role = 0; role < SUNDOG_N_TENSOR_ROLES; role++) {
        const SundogTensor *first = sundog_model_get_tensor(model, (SundogTensorRole)role, 0);
        for (uint32_t layer = 0; layer < n_layers; layer++) {
            const SundogTensor *tensor =
                sundog_model_get_tensor(model, (SundogTensorRole)role, layer);
            if (tensor == NULL || role == SUNDOG_TENSOR_ROPE_FACTORS ||
                (layer > 0 && tensor == first))
                continue;
            check_matrix(core, tensor);
            n_found++;
        }
    }
    /* And the inverse frequencies. */
    g_assert_cmpuint(sundog_core_get_n_weights(core), ==, n_found + 1);
}

static void
test_weights(void)
{
    static const char *const names[] = {"f32-mha",       "f16-gqa-llama3", "bf16-bias-linear",
                                        "q8_0-head-128", "q4_1-gqa-yarn",  "mixed",
                                        "quants"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        Fixtures fixtures;
        g_autoptr(GError) error = NULL;
        fixtures_init(&fixtures, names[i]);
        prepare(&fixtures, &(SundogPrepareOptions){.name = names[i]}, &error);
        g_assert_no_error(error);
        g_autoptr(SundogCore) core = open_core(&fixtures);
        check_weights(fixtures.model, core);
        sundog_package_verify(sundog_core_get_package(core), 1, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        fixtures_clear(&fixtures);
    }
}

/* The core does not depend on how many threads packed it. */
static void
test_threads(void)
{
    Fixtures fixtures;
    g_autoptr(GBytes) first = NULL;
    fixtures_init(&fixtures, "mixed");
    for (unsigned n_threads = 1; n_threads <= 5; n_threads += 2) {
        g_autoptr(GError) error = NULL;
        prepare(&fixtures, &(SundogPrepareOptions){.name = "tiny", .n_threads = n_threads}, &error);
        g_assert_no_error(error);
        g_autoptr(SundogCore) core = open_core(&fixtures);
        GBytes *weights = sundog_core_get_weights(core);
        g_assert_true(first == NULL || g_bytes_equal(first, weights));
        if (first == NULL)
            first = g_bytes_new(g_bytes_get_data(weights, NULL), g_bytes_get_size(weights));
    }
    fixtures_clear(&fixtures);
}

/* What was told of matrices: "name from to" and an error. */
static void
take_quantized(const char *tensor, const char *from, const char *to, double relative_error,
               void *data)
{
    bool is_q4 = strcmp(to, "Q4_1") == 0;
    g_assert_cmpfloat(relative_error, >, 0);
    g_assert_cmpfloat(relative_error, <, is_q4 ? 0.09 : 0.007);
    g_ptr_array_add(data, g_strdup_printf("%s %s %s", tensor, from, to));
}

/* Matrices of floats whose rows are whole blocks are quantized and told of; the table of the vocabulary
 * stays at 8 bits, and what is quantized already as it is. */
static void
test_quantized(void)
{
    static const char *const expected[] = {
        "token_embd.weight F32 Q8_0", "blk.0.attn_v.weight F16 Q4_1",
        "blk.1.attn_v.weight F16 Q4_1", "blk.1.ffn_down.weight BF16 Q4_1"};
    Fixtures fixtures;
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) told = g_ptr_array_new_with_free_func(g_free);
    fixtures_init(&fixtures, "mixed");
    prepare(&fixtures,
            &(SundogPrepareOptions){.name = "tiny",
                                    .weights = SUNDOG_WEIGHTS_Q4,
                                    .quantized = take_quantized,
                                    .data = told},
            &error);
    g_assert_no_error(error);
    g_assert_cmpuint(told->len, ==, G_N_ELEMENTS(expected));
    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
        g_assert_cmpstr(told->pdata[i], ==, expected[i]);
    g_autoptr(SundogCore) core = open_core(&fixtures);
    g_assert_nonnull(core);
    fixtures_clear(&fixtures);
}

static void
test_refused(void)
{
    static const struct {
        const char *model;
        SundogPrepareOptions options;
        const char *text; /* that the error must hold */
    } cases[] = {
        {"tq2_0-refused", {.name = "x"}, "\"token_embd.weight\" is of type TQ2_0"},
        {"mixed", {.name = "x", .target = "moon"}, "target \"moon\" is not known"},
        {"mixed", {.name = "x", .max_context = 257}, "257 tokens was asked for"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Fixtures fixtures;
        SundogPrepareEstimate estimate;
        g_autoptr(GError) error = NULL;
        g_autoptr(GError) estimate_error = NULL;
        fixtures_init(&fixtures, cases[i].model);
        g_assert_false(prepare(&fixtures, &cases[i].options, &error));
        g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED);
        g_assert_nonnull(strstr(error->message, cases[i].text));
        assert_nothing_left(&fixtures);
        g_assert_false(
            sundog_prepare_estimate(fixtures.model, &cases[i].options, &estimate, &estimate_error));
        g_assert_cmpstr(estimate_error->message, ==, error->message);
        fixtures_clear(&fixtures);
    }
}

static void
test_context(void)
{
    Fixtures fixtures;
    g_autoptr(GError) error = NULL;
    fixtures_init(&fixtures, "mixed");
    prepare(&fixtures, &(SundogPrepareOptions){.name = "short", .max_context = 100}, &error);
    g_assert_no_error(error);
    g_autoptr(SundogCore) core = open_core(&fixtures);
    const SundogProgram *program = sundog_core_get_program(core, SUNDOG_PROGRAM_FORWARD);
    g_assert_cmpuint(sundog_core_get_info(core)->context_length, ==, 100);
    g_assert_cmpint(sundog_program_get_bounds(program)->values[SUNDOG_VARIABLE_SEQUENCE_PAGES], ==,
                    2);
    fixtures_clear(&fixtures);
}

static void
test_cancel(void)
{
    Fixtures fixtures;
    g_autoptr(GError) error = NULL;
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    Progress progress = {.cancel_at_weights = cancellable};
    fixtures_init(&fixtures, "f16-gqa-llama3");
    const SundogPrepareOptions options = {
        .name = "tiny", .progress = note_progress, .data = &progress, .cancellable = cancellable};
    g_assert_false(prepare(&fixtures, &options, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_cmpfloat(progress.fraction, <, 0.96);
    g_free(progress.phases);
    assert_nothing_left(&fixtures);
    fixtures_clear(&fixtures);
}

/* A cancelled or failed preparation leaves the core that was there. */
static void
test_cancel_over(void)
{
    Fixtures fixtures;
    g_autoptr(GError) error = NULL;
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    fixtures_init(&fixtures, "mixed");
    prepare(&fixtures, &(SundogPrepareOptions){.name = "old"}, &error);
    g_assert_no_error(error);
    g_cancellable_cancel(cancellable);
    const SundogPrepareOptions options = {.name = "new", .cancellable = cancellable};
    g_assert_false(prepare(&fixtures, &options, &error));
    g_autoptr(SundogCore) core = open_core(&fixtures);
    g_assert_cmpstr(sundog_core_get_info(core)->name, ==, "old");
    fixtures_clear(&fixtures);
}

/* On a disk of 64 KiB of its own, in a mount namespace that ends with the test. */
static void
test_full_disk(void)
{
    Fixtures fixtures;
    g_autoptr(GError) error = NULL;
    fixtures_init(&fixtures, "f32-mha");
    g_autofree char *cores = g_path_get_dirname(fixtures.core);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", cores, "tmpfs", 0, "size=64k") != 0) {
        g_autofree char *reason = g_strdup_printf("cannot mount a small disk: %s", strerror(errno));
        fixtures_clear(&fixtures);
        g_test_skip(reason);
        return;
    }
    g_assert_false(prepare(&fixtures, &(SundogPrepareOptions){.name = "x"}, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO);
    g_assert_nonnull(strstr(error->message, "needs"));
    g_assert_nonnull(strstr(error->message, "free"));
    assert_nothing_left(&fixtures);
    g_assert_cmpint(umount(cores), ==, 0);
    fixtures_clear(&fixtures);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/prepare/progress", test_progress);
    g_test_add_func("/prepare/estimate", test_estimate);
    g_test_add_func("/prepare/weights", test_weights);
    g_test_add_func("/prepare/threads", test_threads);
    g_test_add_func("/prepare/quantized", test_quantized);
    g_test_add_func("/prepare/refused", test_refused);
    g_test_add_func("/prepare/context", test_context);
    g_test_add_func("/prepare/cancel", test_cancel);
    g_test_add_func("/prepare/cancel-over", test_cancel_over);
    g_test_add_func("/prepare/full-disk", test_full_disk);
    return g_test_run();
}
