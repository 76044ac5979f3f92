#include "tests/core/core-builder.h"

#include "engine/core/step.h"
#include "kernels/contract/layout.h"
#include "kernels/contract/linear.h"
#include "kernels/contract/sample.h"
#include "tests/temporary-folder.h"

#include <string.h>

static const SundogShape bounds = {.values = {[SUNDOG_VARIABLE_TOKENS] = 16,
                                              [SUNDOG_VARIABLE_SEQUENCES] = 4,
                                              [SUNDOG_VARIABLE_LOGIT_ROWS] = 4,
                                              [SUNDOG_VARIABLE_SEQUENCE_PAGES] = 2,
                                              [SUNDOG_VARIABLE_POOL_PAGES] = 9,
                                              [SUNDOG_VARIABLE_WINDOW_PAGES] = 1,
                                              [SUNDOG_VARIABLE_POOL_STATES] = 1,
                                              [SUNDOG_VARIABLE_HISTORY] = 8,
                                              [SUNDOG_VARIABLE_MASK] = 64,
                                              [SUNDOG_VARIABLE_BIAS] = 8,
                                              [SUNDOG_VARIABLE_UNITS] = 2,
                                              [SUNDOG_VARIABLE_MULTIPROCESSORS] = 1}};

static SundogExpression
variable(SundogProgram *program, SundogVariable of)
{
    return sundog_expression_variable(sundog_program_edit_expressions(program), of);
}

static SundogExpression
constant(SundogProgram *program, int64_t value)
{
    return sundog_expression_constant(sundog_program_edit_expressions(program), value);
}

static SundogBufferId
add_buffer(SundogProgram *program, const char *name, SundogBufferRole role, SundogDtype dtype,
           SundogExpression first, SundogExpression second)
{
    SundogBuffer buffer = {
        .name = name, .role = role, .dtype = dtype, .rank = 2, .shape = {first, second}};
    if (dtype == SUNDOG_DTYPE_WEIGHT)
        buffer.layout = SUNDOG_LAYOUT_PANEL16_F32;
    return sundog_program_add_buffer(program, &buffer);
}

/* A shape as step.h writes it, such as "sequences+1" or "sequences sequence_pages". */
static void
add_step_input(SundogProgram *program, const char *name, SundogDtype dtype, const char *shape)
{
    g_auto(GStrv) words = g_strsplit(shape, " ", 4);
    SundogBuffer buffer = {.name = name, .role = SUNDOG_BUFFER_INPUT, .dtype = dtype};
    for (; words[buffer.rank] != NULL; buffer.rank++) {
        g_auto(GStrv) terms = g_strsplit(words[buffer.rank], "+", 2);
        SundogExpression size = variable(program, sundog_variable_find(terms[0]));
        if (terms[1] != NULL)
            size = sundog_expression_binary(sundog_program_edit_expressions(program),
                                            SUNDOG_EXPRESSION_ADD, size, constant(program, 1));
        buffer.shape[buffer.rank] = size;
    }
    sundog_program_add_buffer(program, &buffer);
}

SundogBufferId
core_builder_add_temporary(SundogProgram *program, const char *name, int64_t n_columns)
{
    return add_buffer(program, name, SUNDOG_BUFFER_TEMPORARY, SUNDOG_DTYPE_F32,
                      variable(program, SUNDOG_VARIABLE_TOKENS), constant(program, n_columns));
}

SundogBufferId
core_builder_add_matrix(SundogProgram *program, const char *name, int64_t n_rows, int64_t n_columns)
{
    return add_buffer(program, name, SUNDOG_BUFFER_WEIGHT, SUNDOG_DTYPE_WEIGHT,
                      constant(program, n_rows), constant(program, n_columns));
}

void
core_builder_add_operation(SundogProgram *program, SundogOperationKind kind, ...)
{
    SundogOperation operation;
    va_list arguments;
    memset(&operation, 0, sizeof(operation));
    memset(operation.arguments, 0xff, sizeof(operation.arguments));
    operation.kind = kind;
    va_start(arguments, kind);
    for (int a = 0; a < SUNDOG_MAX_ARGUMENTS; a++) {
        int64_t id = va_arg(arguments, int64_t);
        if (id < 0)
            break;
        operation.arguments[a] = (SundogBufferId)id;
    }
    va_end(arguments);
    for (uint32_t p = 0; p < sundog_operation_n_parameters(kind); p++)
        if (sundog_operations[kind].parameters[p].is_float)
            operation.parameters[p].f = 1;
        else
            operation.parameters[p].i = 1;
    sundog_program_add_operation(program, &operation);
}

void
core_builder_plan(SundogProgram *program)
{
    uint64_t offset = 0;
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        if (sundog_program_get_buffer(program, id)->role != SUNDOG_BUFFER_TEMPORARY)
            continue;
        sundog_program_set_buffer_offset(program, id, offset);
        offset += (sundog_program_buffer_bytes(program, id, &bounds) + 63) / 64 * 64;
    }
    sundog_program_set_arena_bytes(program, offset);
}

SundogProgram *
core_builder_new_forward(void)
{
    SundogProgram *program = sundog_program_new(SUNDOG_PROGRAM_FORWARD);
    sundog_program_set_bounds(program, &bounds);
    sundog_program_set_use(program, &(SundogProgramUse){.starts_empty = true});
#define X(name, text, dtype, shape) add_step_input(program, text, SUNDOG_DTYPE_##dtype, shape);
    SUNDOG_STEP_INPUTS(X)
    SUNDOG_STEP_LOGIT_INPUTS(X)
#undef X
    SundogExpression rows = variable(program, SUNDOG_VARIABLE_LOGIT_ROWS);
    int64_t tokens = sundog_program_find_buffer(program, "tokens");
    int64_t logit_rows = sundog_program_find_buffer(program, "logit_rows");
    int64_t table = core_builder_add_matrix(program, "table", BUILDER_VOCABULARY, BUILDER_HIDDEN);
    int64_t x = core_builder_add_temporary(program, "x", BUILDER_HIDDEN);
    int64_t gathered = add_buffer(program, "gathered", SUNDOG_BUFFER_TEMPORARY, SUNDOG_DTYPE_F32,
                                  rows, constant(program, BUILDER_HIDDEN));
    int64_t logits = add_buffer(program, "logits", SUNDOG_BUFFER_OUTPUT, SUNDOG_DTYPE_F32, rows,
                                constant(program, BUILDER_VOCABULARY));
    int64_t workspace =
        add_buffer(program, "workspace", SUNDOG_BUFFER_TEMPORARY, SUNDOG_DTYPE_U8,
                   variable(program, SUNDOG_VARIABLE_UNITS),
                   constant(program, (int64_t)sundog_linear_workspace_bytes(BUILDER_HIDDEN)));
    core_builder_add_operation(program, SUNDOG_OP_EMBED, tokens, table, x, (int64_t)-1);
    core_builder_add_operation(program, SUNDOG_OP_GATHER_ROWS, x, logit_rows, gathered,
                               (int64_t)-1);
    core_builder_add_operation(program, SUNDOG_OP_LINEAR, gathered, table,
                               (int64_t)SUNDOG_BUFFER_NONE, (int64_t)SUNDOG_BUFFER_NONE, logits,
                               workspace, (int64_t)-1);
    core_builder_plan(program);
    return program;
}

static SundogProgram *
new_sample(void)
{
    SundogProgram *program = sundog_program_new(SUNDOG_PROGRAM_SAMPLE);
    sundog_program_set_bounds(program, &bounds);
    SundogExpression rows = variable(program, SUNDOG_VARIABLE_LOGIT_ROWS);
    int64_t logits = add_buffer(program, "logits", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_F32, rows,
                                constant(program, BUILDER_VOCABULARY));
    int64_t sampling = add_buffer(program, "sampling", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_U8, rows,
                                  constant(program, sizeof(SundogSampling)));
    int64_t history = add_buffer(program, "history", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_I32, rows,
                                 variable(program, SUNDOG_VARIABLE_HISTORY));
    int64_t mask = add_buffer(program, "mask", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_I32, rows,
                              variable(program, SUNDOG_VARIABLE_MASK));
    int64_t bias = add_buffer(program, "bias", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_I32, rows,
                              variable(program, SUNDOG_VARIABLE_BIAS));
    SundogBuffer buffer = {.name = "token",
                           .role = SUNDOG_BUFFER_OUTPUT,
                           .dtype = SUNDOG_DTYPE_I32,
                           .rank = 1,
                           .shape = {rows}};
    int64_t token = sundog_program_add_buffer(program, &buffer);
    int64_t workspace =
        add_buffer(program, "workspace", SUNDOG_BUFFER_TEMPORARY, SUNDOG_DTYPE_U8,
                   variable(program, SUNDOG_VARIABLE_UNITS),
                   constant(program, (int64_t)sundog_sample_workspace_bytes(BUILDER_VOCABULARY)));
    core_builder_add_operation(program, SUNDOG_OP_SAMPLE, logits, sampling, history, mask, bias,
                               token, workspace, (int64_t)-1);
    core_builder_plan(program);
    return program;
}

/* Single quotes for double ones, so that the text can be read here. */
static JsonObject *
parse_object(const char *text)
{
    g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
    g_autoptr(JsonNode) node = json_from_string(json, NULL);
    g_assert_nonnull(node);
    return json_node_dup_object(node);
}

static JsonObject *
new_manifest(const CoreBuilder *builder)
{
    uint64_t arena_bytes = MAX(sundog_program_get_arena_bytes(builder->forward),
                               sundog_program_get_arena_bytes(builder->sample));
    g_autofree char *text = g_strdup_printf(
        "{'features': ['host-2'], 'name': 'tiny', 'target': 'host', 'activations': 'f32',"
        " 'model': {'name': 'Tiny', 'architecture': 'llama', 'licence': null, 'n_parameters': 1280,"
        "   'context_length': 128, 'n_vocabulary': 40, 'file': 'tiny.gguf', 'sha256': '00',"
        "   'bytes': 1},"
        " 'cache': [{'scheme': 'paged', 'page_tokens': 64, 'dtype': 'f16', 'n_layers': 1,"
        "   'n_kv_heads': 1, 'head_dim': 32, 'page_bytes': 8192}],"
        " 'variables': {'tokens': 16, 'sequences': 4, 'logit_rows': 4, 'sequence_pages': 2,"
        "   'pool_pages': 9, 'pool_states': 1, 'history': 8, 'mask': 64, 'bias': 8, 'units': 2, "
        "'multiprocessors': "
        "1},"
        " 'programs': ['forward', 'sample'],"
        " 'weights': [{'name': 'table', 'layout': 'panel16-f32', 'n_rows': 40, 'n_columns': 32,"
        "   'offset': 0, 'bytes': %u}],"
        " 'plan': {'arena_bytes': %" G_GUINT64_FORMAT ", 'weight_bytes': %u},"
        " 'text': {'vocabulary': 'text/vocabulary', 'template': null}}",
        builder->weights->len, arena_bytes, builder->weights->len);
    return parse_object(text);
}

void
core_builder_init(CoreBuilder *builder)
{
    builder->forward = core_builder_new_forward();
    builder->sample = new_sample();
    builder->weights = g_byte_array_new();
    g_byte_array_set_size(
        builder->weights,
        (guint)sundog_layout_bytes(SUNDOG_LAYOUT_PANEL16_F32, BUILDER_VOCABULARY, BUILDER_HIDDEN));
    memset(builder->weights->data, 0, builder->weights->len);
    builder->manifest = new_manifest(builder);
    builder->folder = g_dir_make_tmp("sundog-core.XXXXXX", NULL);
    g_assert_nonnull(builder->folder);
}

void
core_builder_clear(CoreBuilder *builder)
{
    sundog_program_free(builder->forward);
    sundog_program_free(builder->sample);
    json_object_unref(builder->manifest);
    g_byte_array_unref(builder->weights);
    temporary_folder_remove(builder->folder);
    g_free(builder->folder);
}

static void
write_member(SundogPackageWriter *writer, const char *path, const void *data, size_t n_bytes)
{
    g_autoptr(GError) error = NULL;
    sundog_package_writer_begin(writer, path, &error);
    g_assert_no_error(error);
    sundog_package_writer_append(writer, data, n_bytes, &error);
    g_assert_no_error(error);
    sundog_package_writer_end(writer, &error);
    g_assert_no_error(error);
}

static void
write_program(SundogPackageWriter *writer, const char *path, const SundogProgram *program)
{
    SundogWriter bytes;
    sundog_writer_init(&bytes);
    sundog_program_write(program, &bytes);
    write_member(writer, path, bytes.bytes->data, bytes.bytes->len);
    sundog_writer_clear(&bytes);
}

SundogCore *
core_builder_open(CoreBuilder *builder, GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_autofree char *keys = g_build_filename(builder->folder, "keys", NULL);
    g_autofree char *core = g_build_filename(builder->folder, "core", NULL);
    g_autoptr(SundogKeyring) keyring = sundog_keyring_open(keys, &failure);
    g_assert_no_error(failure);
    g_autoptr(SundogPackageWriter) writer = sundog_package_writer_new(core, &failure);
    g_assert_no_error(failure);
    write_program(writer, "programs/forward", builder->forward);
    write_program(writer, "programs/sample", builder->sample);
    write_member(writer, SUNDOG_CORE_WEIGHTS, builder->weights->data, builder->weights->len);
    write_member(writer, SUNDOG_CORE_VOCABULARY, "x", 1);
    sundog_package_writer_finish(writer, builder->manifest, keyring, &failure);
    g_assert_no_error(failure);
    return sundog_core_open(core, keyring, error);
}
