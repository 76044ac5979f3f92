/* Plans of hostile models: whatever the model house lets through is planned or refused, and a plan that
 * is made holds together. */

#include "tests/prepare/fixture.h"

#include "engine/prepare/plan.h"

void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    static const char *const names[] = {"tiny/mixed.gguf", "tiny/tq2_0-refused.gguf"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        gsize n_bytes;
        g_autofree char *data = NULL;
        g_autofree char *path = fixture_dup_path(names[i]);
        g_assert_true(g_file_get_contents(path, &data, &n_bytes, NULL));
        add(data, n_bytes);
    }
}

static void
plan(const SundogModel *model, SundogActivations activations)
{
    g_auto(SundogPlan) plan = {0};
    g_autoptr(GError) error = NULL;
    const SundogPrepareOptions options = {.name = "fuzz", .activations = activations};
    if (!sundog_plan_make(&plan, model, &options, &error)) {
        g_assert_nonnull(error);
        return;
    }
    sundog_program_check(plan.forward.program, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(sundog_plan_measure_arena(&plan, 1), <=, plan.arena_bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    g_autoptr(GBytes) bytes = g_bytes_new(data, n_bytes);
    g_autoptr(SundogModel) model = sundog_model_new_from_bytes(bytes, "fuzz", NULL);
    if (model == NULL)
        return 0;
    plan(model, SUNDOG_ACTIVATIONS_INT8);
    plan(model, SUNDOG_ACTIVATIONS_F32);
    return 0;
}
