/* Launch lists of whole models, made and checked without a GPU; and lists that must not pass. */

#include "engine/prepare/lower.h"
#include "engine/prepare/plan.h"
#include "kernels/contract/cubins.h"
#include "tests/prepare/fixture.h"

#include <string.h>

#define TARGET "sm_90a"

static bool
skip_without_cubins(void)
{
    if (sundog_cubin_find(TARGET, "linear") != NULL)
        return false;
    g_test_skip("built without cubins for " TARGET);
    return true;
}

static void
plan_make(SundogPlan *plan, const char *path, SundogActivations activations)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogModel) model = sundog_model_open(path, &error);
    g_assert_no_error(error);
    const SundogPrepareOptions options = {
        .name = "test", .target = TARGET, .activations = activations};
    sundog_plan_make(plan, model, &options, &error);
    g_assert_no_error(error);
}

static SundogLaunchList *
write_and_read(const SundogLaunchList *list)
{
    SundogWriter writer;
    SundogReader reader;
    g_autoptr(GError) error = NULL;
    sundog_writer_init(&writer);
    sundog_launch_list_write(list, &writer);
    g_autoptr(GBytes) bytes = sundog_writer_steal(&writer);
    sundog_reader_init(&reader, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), "list");
    SundogLaunchList *again = sundog_launch_list_read(&reader);
    sundog_reader_finish(&reader, &error);
    g_assert_no_error(error);
    return again;
}

/* Launches for a decoding sequence beside the embedding, plan, gather and head: five a layer, or in chains one
 * with attention and one with what is between two attentions, and the first layer's own. */
static void
check_decoding(const SundogPlan *plan, bool is_chained)
{
    uint32_t n_layers = plan->cache.n_layers;
    const SundogLaunchVariant *variant =
        sundog_launch_list_find_variant(plan->forward_launches, 1, SUNDOG_STEPS_ONE_ROW);
    g_assert_nonnull(variant);
    g_assert_cmpuint(variant->n_launches, ==, is_chained ? 2 * n_layers + 5 : 5 * n_layers + 4);
    g_assert_null(sundog_launch_list_find_variant(plan->forward_launches,
                                                  plan->bounds.values[SUNDOG_VARIABLE_TOKENS] + 1,
                                                  SUNDOG_STEPS_MIXED));
}

static void
check_activations(const char *path, SundogActivations activations, bool is_chained)
{
    g_auto(SundogPlan) plan = {0};
    g_autoptr(GError) error = NULL;
    plan_make(&plan, path, activations);
    check_decoding(&plan, is_chained);
    g_autoptr(SundogLaunchList) again = write_and_read(plan.forward_launches);
    sundog_launch_list_check(again, plan.forward.program, &error);
    g_assert_no_error(error);
    g_autoptr(SundogLaunchList) sample = write_and_read(plan.sample_launches);
    sundog_launch_list_check(sample, plan.sample, &error);
    g_assert_no_error(error);
}

/* Chains are for x in bytes, and for matrices of whole blocks. */
static void
check_model(const char *path, bool is_whole)
{
    check_activations(path, SUNDOG_ACTIVATIONS_INT8, is_whole);
    check_activations(path, SUNDOG_ACTIVATIONS_F32, false);
}

static void
test_smollm2(void)
{
    const char *cache = g_getenv("SUNDOG_TEST_CACHE");
    g_autofree char *path = g_build_filename(cache != NULL ? cache : ".", "smollm2.gguf", NULL);
    if (skip_without_cubins())
        return;
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_test_skip("smollm2.gguf is not in the cache of test files");
        return;
    }
    check_model(path, true);
}

static void
test_tiny(void)
{
    g_autofree char *path = fixture_dup_path("tiny/q8_0-head-128.gguf");
    if (!skip_without_cubins())
        check_model(path, false);
}

/* Lets all attention read queries alone, as layers do that attend to another layer's keys and values. */
static void
take_queries_alone(SundogProgram *program)
{
    enum { QKV, N_HEADS = 0, HEAD_DIM = 2 };
    uint32_t n = sundog_program_get_n_operations(program);
    g_autofree SundogOperation *operations = g_new(SundogOperation, n);
    for (uint32_t i = 0; i < n; i++) {
        operations[i] = *sundog_program_get_operation(program, i);
        const SundogParameter *p = operations[i].parameters;
        if (operations[i].kind != SUNDOG_OP_ATTENTION)
            continue;
        SundogBuffer queries = *sundog_program_get_buffer(program, operations[i].arguments[QKV]);
        g_autofree char *name = g_strdup_printf("queries.%u", i);
        queries.name = name;
        queries.shape[1] = sundog_expression_constant(sundog_program_edit_expressions(program),
                                                      p[N_HEADS].i * p[HEAD_DIM].i);
        operations[i].arguments[QKV] = sundog_program_add_buffer(program, &queries);
    }
    sundog_program_set_operations(program, operations, n);
}

static uint32_t
count_entries(const SundogLaunchList *list, const char *prefix)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < sundog_launch_list_get_n_variants(list); v++) {
        const SundogLaunchVariant *variant = sundog_launch_list_get_variant(list, v);
        for (uint32_t i = 0; i < variant->n_launches; i++)
            n += g_str_has_prefix(
                sundog_launch_list_get_launch(list, variant->first_launch + i)->entry, prefix);
    }
    return n;
}

/* The fast kernels step over rows of queries, keys and values. */
static void
test_queries_alone(void)
{
    g_auto(SundogPlan) plan = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *path = fixture_dup_path("tiny/q8_0-head-128.gguf");
    if (skip_without_cubins())
        return;
    plan_make(&plan, path, SUNDOG_ACTIVATIONS_F32);
    g_assert_cmpuint(count_entries(plan.forward_launches, "sundog_attention_"), >, 0);
    g_assert_cmpuint(count_entries(plan.forward_launches, "sundog_decode_"), >, 0);
    g_assert_cmpuint(count_entries(plan.forward_launches, "sundog_attend_"), ==, 0);
    take_queries_alone(plan.forward.program);
    g_autoptr(SundogLaunchList) list = sundog_lower(plan.forward.program, TARGET, false, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(count_entries(list, "sundog_attend_"), >, 0);
    g_assert_cmpuint(count_entries(list, "sundog_attention_"), ==, 0);
    g_assert_cmpuint(count_entries(list, "sundog_decode_"), ==, 0);
    g_assert_cmpuint(count_entries(list, "sundog_flash_"), ==, 0);
}

/* By which columns and blocks a product by warpgroups is split: what follows its entry's tokens. */
static const char *
find_split(const char *entry)
{
    const char *tile = strrchr(entry, '_');
    return tile != NULL ? strchr(tile, 'x') : NULL;
}

/* Steps that are all alike: each kind of operation has one kernel, split in one way, whatever the tokens. */
static void
test_alike(void)
{
    g_auto(SundogPlan) plan = {0};
    g_autofree char *path = fixture_dup_path("tiny/q8_0-head-128.gguf");
    if (skip_without_cubins())
        return;
    plan_make(&plan, path, SUNDOG_ACTIVATIONS_INT8);
    const SundogLaunchList *list = plan.forward_launches;
    const SundogLaunchVariant *first = sundog_launch_list_find_variant(list, 1, SUNDOG_STEPS_ALIKE);
    g_assert_nonnull(first);
    for (int64_t n = 1; n <= plan.bounds.values[SUNDOG_VARIABLE_TOKENS]; n++) {
        const SundogLaunchVariant *variant =
            sundog_launch_list_find_variant(list, n, SUNDOG_STEPS_ALIKE);
        g_assert_nonnull(variant);
        g_assert_cmpuint(variant->n_launches, ==, first->n_launches);
        for (uint32_t i = 0; i < variant->n_launches; i++) {
            const char *a = sundog_launch_list_get_launch(list, first->first_launch + i)->entry;
            const char *b = sundog_launch_list_get_launch(list, variant->first_launch + i)->entry;
            g_assert_cmpstr(find_split(a), ==, find_split(b));
            if (find_split(a) == NULL)
                g_assert_cmpstr(a, ==, b);
        }
    }
}

/* The same list with one thing changed. */
typedef void (*Change)(SundogLaunch *launch, SundogLaunchField *fields, SundogLaunchList *list);

static SundogLaunchList *
copy_changed(const SundogLaunchList *from, const SundogProgram *program, uint32_t index,
             Change change)
{
    SundogLaunchList *list = sundog_launch_list_new(program);
    /* The changed list shares the original's expressions by being read back from its bytes. */
    g_autoptr(SundogLaunchList) source = write_and_read(from);
    for (uint32_t m = 0; m < sundog_launch_list_get_n_modules(source); m++) {
        const SundogLaunchModule *module = sundog_launch_list_get_module(source, m);
        sundog_launch_list_add_module(list, module->name, module->sha256);
    }
    const SundogExpressionPool *pool = sundog_launch_list_get_expressions(source);
    SundogShape bounds = *sundog_program_get_bounds(program);
    for (uint32_t v = 0; v < sundog_launch_list_get_n_variants(source); v++) {
        const SundogLaunchVariant *variant = sundog_launch_list_get_variant(source, v);
        sundog_launch_list_add_variant(list, variant->min_tokens, variant->max_tokens,
                                       variant->steps);
        bounds.values[SUNDOG_VARIABLE_TOKENS] = variant->max_tokens;
        for (uint32_t i = 0; i < variant->n_launches; i++) {
            SundogLaunch launch = *sundog_launch_list_get_launch(source, variant->first_launch + i);
            g_autofree SundogLaunchField *fields = g_memdup2(
                sundog_launch_list_get_fields(source, &launch), launch.n_fields * sizeof(*fields));
            /* Sizes at the bounds are all that the check looks at. */
            for (int d = 0; d < 3; d++)
                launch.grid[d] = sundog_expression_constant(
                    sundog_launch_list_edit_expressions(list),
                    sundog_expression_evaluate(pool, launch.grid[d], &bounds));
            for (uint32_t f = 0; f < launch.n_fields; f++) {
                fields[f].n_bytes = sundog_expression_constant(
                    sundog_launch_list_edit_expressions(list),
                    sundog_expression_evaluate(pool, fields[f].n_bytes, &bounds));
                fields[f].value = sundog_expression_constant(
                    sundog_launch_list_edit_expressions(list),
                    sundog_expression_evaluate(pool, fields[f].value, &bounds));
            }
            const uint8_t *parameters = sundog_launch_list_get_parameters(source, &launch);
            if (v == 0 && i == index)
                change(&launch, fields, list);
            if (launch.n_operations > 0)
                sundog_launch_list_add_launch(list, &launch, parameters, fields);
        }
    }
    return list;
}

static void
keep(SundogLaunch *launch, SundogLaunchField *fields, SundogLaunchList *list)
{
}

static void
drop(SundogLaunch *launch, SundogLaunchField *fields, SundogLaunchList *list)
{
    launch->n_operations = 0;
}

static void
forget_wait(SundogLaunch *launch, SundogLaunchField *fields, SundogLaunchList *list)
{
    launch->waits = false;
}

static void
name_other_module(SundogLaunch *launch, SundogLaunchField *fields, SundogLaunchList *list)
{
    launch->module = "other";
}

static void
only_read(SundogLaunch *launch, SundogLaunchField *fields, SundogLaunchList *list)
{
    for (uint32_t i = 0; i < launch->n_fields; i++)
        fields[i].access = SUNDOG_ACCESS_READ;
}

static void
only_write(SundogLaunch *launch, SundogLaunchField *fields, SundogLaunchList *list)
{
    for (uint32_t i = 0; i < launch->n_fields; i++)
        fields[i].access = SUNDOG_ACCESS_UPDATE;
}

static void
touch_too_much(SundogLaunch *launch, SundogLaunchField *fields, SundogLaunchList *list)
{
    for (uint32_t i = 0; i < launch->n_fields; i++) {
        fields[i].all_bytes = false;
        fields[i].n_bytes =
            sundog_expression_constant(sundog_launch_list_edit_expressions(list), (int64_t)1 << 50);
    }
}

static void
name_other_buffer(SundogLaunch *launch, SundogLaunchField *fields, SundogLaunchList *list)
{
    fields[0].buffer = 1000000;
}

static void
map_other_rows(SundogLaunch *launch, SundogLaunchField *fields, SundogLaunchList *list)
{
    fields[0].kind = SUNDOG_FIELD_TENSOR_MAP;
}

static void
empty_grid(SundogLaunch *launch, SundogLaunchField *fields, SundogLaunchList *list)
{
    launch->grid[0] = sundog_expression_constant(sundog_launch_list_edit_expressions(list), 0);
}

/* Launch 2 of the first variant norms and makes queries, keys and values of the first layer; 3 attends. */
static void
test_wrong(void)
{
    static const struct {
        Change change;
        uint32_t index;
        const char *fault; /* or NULL where the list is right */
    } cases[] = {
        {keep, 2, NULL},
        {drop, 2, "is next"},
        {forget_wait, 2, "does not wait"},
        {name_other_module, 2, "is not in the list"},
        {only_read, 2, "is written by its operations, and not by it"},
        {only_write, 2, "may not be written"},
        {touch_too_much, 2, "bytes of"},
        {name_other_buffer, 2, "is not there"},
        {map_other_rows, 2, "has no rows of bf16"},
        {map_other_rows, 2, "is copied in boxes of"},
        {empty_grid, 2, "the grid is 0"},
        {only_read, 3, "read before it is written"},
    };
    g_auto(SundogPlan) plan = {0};
    g_autofree char *path = fixture_dup_path("tiny/q8_0-head-128.gguf");
    if (skip_without_cubins())
        return;
    plan_make(&plan, path, SUNDOG_ACTIVATIONS_F32);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(SundogLaunchList) list = copy_changed(plan.forward_launches, plan.forward.program,
                                                        cases[i].index, cases[i].change);
        bool passes = sundog_launch_list_check(list, plan.forward.program, &error);
        if (cases[i].fault == NULL)
            g_assert_no_error(error);
        else
            g_assert_false(passes);
        if (cases[i].fault != NULL && strstr(error->message, cases[i].fault) == NULL)
            g_error("case %zu says: %s", i, error->message);
    }
}

/* Temporaries that one launch reads and writes at once must not share a place, even where the program's
 * operations would let them. */
static void
test_overlap(void)
{
    g_auto(SundogPlan) plan = {0};
    g_autoptr(GError) error = NULL;
    g_autofree char *path = fixture_dup_path("tiny/q8_0-head-128.gguf");
    if (skip_without_cubins())
        return;
    plan_make(&plan, path, SUNDOG_ACTIVATIONS_F32);
    SundogProgram *program = plan.forward.program;
    const SundogOperation *norm = sundog_program_get_operation(program, 2);
    const SundogOperation *qkv = sundog_program_get_operation(program, 3);
    g_assert_cmpint(norm->kind, ==, SUNDOG_OP_RMS_NORM);
    g_assert_cmpint(qkv->kind, ==, SUNDOG_OP_LINEAR_QKV);
    sundog_program_set_buffer_offset(program, norm->arguments[0],
                                     sundog_program_get_buffer(program, qkv->arguments[7])->offset);
    g_assert_false(sundog_launch_list_check(plan.forward_launches, program, &error));
    g_assert_nonnull(strstr(error->message, "overlap while both live"));
}

/* Bits turned over at so many places of a list, which is then cut off at one in three. */
static void
turn_bits(const SundogLaunchList *from, const SundogProgram *program, size_t n_places)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_launch_list_write(from, &writer);
    g_autoptr(GBytes) bytes = sundog_writer_steal(&writer);
    size_t n_bytes;
    const uint8_t *data = g_bytes_get_data(bytes, &n_bytes);
    size_t step = MAX(n_bytes / n_places, 1);
    for (size_t i = 0; i < n_bytes; i += step) {
        g_autofree uint8_t *changed = g_memdup2(data, n_bytes);
        SundogReader reader;
        g_autoptr(GError) error = NULL;
        changed[i] ^= (uint8_t)(1u << i % 8);
        sundog_reader_init(&reader, changed, i % 3 == 0 ? i : n_bytes, "list");
        g_autoptr(SundogLaunchList) list = sundog_launch_list_read(&reader);
        if (sundog_reader_finish(&reader, NULL) && list != NULL)
            sundog_launch_list_check(list, program, &error);
    }
}

static void
test_hostile(void)
{
    g_auto(SundogPlan) plan = {0};
    g_autofree char *path = fixture_dup_path("tiny/q8_0-head-128.gguf");
    if (skip_without_cubins())
        return;
    plan_make(&plan, path, SUNDOG_ACTIVATIONS_F32);
    turn_bits(plan.sample_launches, plan.sample, 100000);
    turn_bits(plan.forward_launches, plan.forward.program, 400);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/launches/alike", test_alike);
    g_test_add_func("/launches/queries-alone", test_queries_alone);
    g_test_add_func("/launches/smollm2", test_smollm2);
    g_test_add_func("/launches/tiny", test_tiny);
    g_test_add_func("/launches/wrong", test_wrong);
    g_test_add_func("/launches/overlap", test_overlap);
    g_test_add_func("/launches/hostile", test_hostile);
    return g_test_run();
}
