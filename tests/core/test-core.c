/* Opening cores: one that is right, and each kind of disagreement between its parts. */

#include "tests/core/core-builder.h"

#include "engine/core/step.h"
#include "engine/format/error.h"

#include <string.h>

static JsonObject *
inner(CoreBuilder *builder, const char *name)
{
    return json_object_get_object_member(builder->manifest, name);
}

static JsonObject *
first_of(CoreBuilder *builder, const char *name)
{
    return json_array_get_object_element(json_object_get_array_member(builder->manifest, name), 0);
}

static void
test_open(void)
{
    CoreBuilder builder;
    g_autoptr(GError) error = NULL;
    core_builder_init(&builder);
    g_autoptr(SundogCore) core = core_builder_open(&builder, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(sundog_core_get_info(core)->model_name, ==, "Tiny");
    g_assert_cmpuint(sundog_core_get_n_weights(core), ==, 1);
    const SundogCoreWeight *weight = sundog_core_find_weight(core, "table");
    g_assert_true(weight == sundog_core_get_weight(core, 0));
    g_assert_cmpint(weight->n_rows, ==, BUILDER_VOCABULARY);
    g_assert_null(sundog_core_find_weight(core, "chair"));
    g_assert_nonnull(sundog_core_get_program(core, SUNDOG_PROGRAM_FORWARD));
    g_assert_null(sundog_core_get_program(core, SUNDOG_PROGRAM_REFERENCE));
    g_assert_cmpuint(g_bytes_get_size(sundog_core_get_weights(core)), ==, weight->n_bytes);
    g_assert_cmpuint(sundog_core_get_cache(core)->page_bytes, ==, 8192);
    core_builder_clear(&builder);
}

static void
need_feature(CoreBuilder *builder)
{
    json_array_add_string_element(json_object_get_array_member(builder->manifest, "features"),
                                  "moon-landing-3");
}

static void
change_target(CoreBuilder *builder)
{
    json_object_set_string_member(builder->manifest, "target", "sm_90a");
}

static void
change_activations(CoreBuilder *builder)
{
    json_object_set_string_member(builder->manifest, "activations", "int3");
}

static void
lose_name(CoreBuilder *builder)
{
    json_object_remove_member(builder->manifest, "name");
}

static void
turn_model_to_text(CoreBuilder *builder)
{
    json_object_set_string_member(builder->manifest, "model", "a text");
}

static void
turn_vocabulary_to_text(CoreBuilder *builder)
{
    json_object_set_string_member(inner(builder, "model"), "n_vocabulary", "40");
}

static void
lower_vocabulary(CoreBuilder *builder)
{
    json_object_set_int_member(inner(builder, "model"), "n_vocabulary", 39);
}

static void
shrink_context(CoreBuilder *builder)
{
    json_object_set_int_member(inner(builder, "model"), "context_length", 0);
}

static void
move_weight(CoreBuilder *builder)
{
    json_object_set_int_member(first_of(builder, "weights"), "offset", 64);
}

static void
misalign_weight(CoreBuilder *builder)
{
    json_object_set_int_member(first_of(builder, "weights"), "offset", 4);
}

static void
move_weight_far(CoreBuilder *builder)
{
    json_object_set_int_member(first_of(builder, "weights"), "offset", INT64_MAX - 63);
}

static void
shorten_weight(CoreBuilder *builder)
{
    json_object_set_int_member(first_of(builder, "weights"), "bytes", 64);
}

static void
narrow_weight(CoreBuilder *builder)
{
    json_object_set_int_member(first_of(builder, "weights"), "n_columns", 31);
}

static void
rename_weight(CoreBuilder *builder)
{
    json_object_set_string_member(first_of(builder, "weights"), "name", "chair");
}

static void
change_layout(CoreBuilder *builder)
{
    json_object_set_string_member(first_of(builder, "weights"), "layout", "panel17-f99");
}

static void
repeat_weight(CoreBuilder *builder)
{
    JsonArray *weights = json_object_get_array_member(builder->manifest, "weights");
    JsonObject *copy = json_node_dup_object(json_array_get_element(weights, 0));
    json_array_add_object_element(weights, copy);
}

static void
lengthen_weights(CoreBuilder *builder)
{
    g_byte_array_append(builder->weights, (const guint8 *)"more", 4);
}

static void
change_scheme(CoreBuilder *builder)
{
    json_object_set_string_member(first_of(builder, "cache"), "scheme", "spiral");
}

static void
change_page(CoreBuilder *builder)
{
    json_object_set_int_member(first_of(builder, "cache"), "page_bytes", 8193);
}

static void
change_bound(CoreBuilder *builder)
{
    json_object_set_int_member(inner(builder, "variables"), "tokens", 17);
}

static void
shrink_arena(CoreBuilder *builder)
{
    json_object_set_int_member(inner(builder, "plan"), "arena_bytes", 64);
}

static void
lose_program(CoreBuilder *builder)
{
    JsonArray *programs = json_object_get_array_member(builder->manifest, "programs");
    json_array_remove_element(programs, 1);
}

static void
name_other_program(CoreBuilder *builder)
{
    JsonArray *programs = json_object_get_array_member(builder->manifest, "programs");
    json_array_add_string_element(programs, "backward");
}

static void
swap_programs(CoreBuilder *builder)
{
    SundogProgram *forward = builder->forward;
    builder->forward = builder->sample;
    builder->sample = forward;
}

static void
forget_plan(CoreBuilder *builder)
{
    sundog_program_set_arena_bytes(builder->forward, 0);
}

static void
add_input(CoreBuilder *builder)
{
    SundogExpressionPool *pool = sundog_program_edit_expressions(builder->forward);
    SundogBuffer buffer = {.name = "surprise",
                           .role = SUNDOG_BUFFER_INPUT,
                           .dtype = SUNDOG_DTYPE_I32,
                           .rank = 1,
                           .shape = {sundog_expression_constant(pool, 1)}};
    sundog_program_add_buffer(builder->forward, &buffer);
}

static void
test_refusals(void)
{
    static const struct {
        void (*break_it)(CoreBuilder *builder);
        const char *text; /* that the error must hold */
    } cases[] = {
        {need_feature, "needs the feature \"moon-landing-3\""},
        {change_target, "target \"sm_90a\""},
        {change_activations, "activations in \"int3\""},
        {lose_name, "name is missing"},
        {turn_model_to_text, "model is not an object"},
        {turn_vocabulary_to_text, "model: n_vocabulary is not a whole number"},
        {lower_vocabulary, "\"logits\" is not f32 [logit_rows 39]"},
        {shrink_context, "model: context_length is 0, expected 1 to"},
        {move_weight, "\"table\" ends past the"},
        {misalign_weight, "\"table\" begins at 4, not a multiple of 64"},
        {move_weight_far, "offset is"},
        {shorten_weight, "\"table\" has 64 bytes, not what panel16-f32 needs"},
        {narrow_weight, "\"table\""},
        {rename_weight, "takes the weight \"table\""},
        {change_layout, "layout \"panel17-f99\" is not known"},
        {repeat_weight, "before the one before it ends"},
        {lengthen_weights, "weights/data has"},
        {change_scheme, "scheme is spiral"},
        {change_page, "page_bytes is 8193"},
        {change_bound, "bounds tokens by 16, the manifest by 17"},
        {shrink_arena, "expected 1 to the plan's 64"},
        {lose_program, "no program \"sample\""},
        {name_other_program, "programs/backward"},
        {swap_programs, "program \"forward\" holds one named \"sample\""},
        {forget_plan, "has an arena of 0 bytes"},
        {add_input, "\"surprise\" is not known to the token engine"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        CoreBuilder builder;
        g_autoptr(GError) error = NULL;
        core_builder_init(&builder);
        cases[i].break_it(&builder);
        g_assert_null(core_builder_open(&builder, &error));
        if (strstr(error->message, cases[i].text) == NULL)
            g_error("case %zu: \"%s\" is not in \"%s\"", i, cases[i].text, error->message);
        core_builder_clear(&builder);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core/open", test_open);
    g_test_add_func("/core/refusals", test_refusals);
    return g_test_run();
}
