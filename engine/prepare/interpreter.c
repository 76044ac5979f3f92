/* One program, one thread, one operation after the other. */

#include "engine/prepare/interpreter.h"

#include "engine/format/error.h"

#include <stdlib.h>
#include <string.h>

struct SundogInterpreter {
    const SundogProgram *program; /* the core's */
    SundogShape bounds;
    void **data;   /* [n_buffers]; weights lie in the core's mapping */
    bool *is_ours; /* [n_buffers] */
};

static bool
check_bounds(const SundogProgram *program, const SundogShape *bounds, GError **error)
{
    const SundogShape *most = sundog_program_get_bounds(program);
    for (int i = 0; i < SUNDOG_N_VARIABLES; i++) {
        if (bounds->values[i] >= 1 && bounds->values[i] <= most->values[i])
            continue;
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "%s is %" G_GINT64_FORMAT ", the program \"%s\" takes 1 to %" G_GINT64_FORMAT,
                    sundog_variable_name((SundogVariable)i), bounds->values[i],
                    sundog_program_get_name(program), most->values[i]);
        return false;
    }
    return true;
}

static void *
find_weight(const SundogCore *core, const char *name)
{
    const uint8_t *weights = g_bytes_get_data(sundog_core_get_weights(core), NULL);
    /* Opening the core has matched every weight of its programs. */
    return (void *)(weights + sundog_core_find_weight(core, name)->offset);
}

/* Zeroed: pages that nobody has written hold numbers, as they would in a pool that is in use. */
static void *
allocate(size_t n_bytes)
{
    size_t rounded = (MAX(n_bytes, 1) + SUNDOG_BUFFER_ALIGNMENT - 1) / SUNDOG_BUFFER_ALIGNMENT *
                     SUNDOG_BUFFER_ALIGNMENT;
    void *memory = aligned_alloc(SUNDOG_BUFFER_ALIGNMENT, rounded);
    if (memory == NULL)
        g_error("no memory for a buffer of %zu bytes", rounded);
    memset(memory, 0, rounded);
    return memory;
}

SundogInterpreter *
sundog_interpreter_new(const SundogCore *core, const char *name, const SundogShape *bounds,
                       GError **error)
{
    const SundogProgram *program = sundog_core_get_program(core, name);
    if (program == NULL) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "the core has no program \"%s\": prepare it again", name);
        return NULL;
    }
    if (!check_bounds(program, bounds, error))
        return NULL;
    uint32_t n_buffers = sundog_program_get_n_buffers(program);
    SundogInterpreter *interpreter = g_new0(SundogInterpreter, 1);
    interpreter->program = program;
    interpreter->bounds = *bounds;
    interpreter->data = g_new0(void *, n_buffers);
    interpreter->is_ours = g_new0(bool, n_buffers);
    for (SundogBufferId id = 0; id < n_buffers; id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        interpreter->is_ours[id] = buffer->role != SUNDOG_BUFFER_WEIGHT;
        interpreter->data[id] = interpreter->is_ours[id]
                                    ? allocate(sundog_program_buffer_bytes(program, id, bounds))
                                    : find_weight(core, buffer->name);
    }
    return interpreter;
}

void
sundog_interpreter_free(SundogInterpreter *interpreter)
{
    if (interpreter == NULL)
        return;
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(interpreter->program); id++)
        if (interpreter->is_ours[id])
            free(interpreter->data[id]);
    g_free(interpreter->data);
    g_free(interpreter->is_ours);
    g_free(interpreter);
}

const SundogProgram *
sundog_interpreter_get_program(const SundogInterpreter *interpreter)
{
    return interpreter->program;
}

void *
sundog_interpreter_get_buffer(SundogInterpreter *interpreter, const char *name)
{
    SundogBufferId id = sundog_program_find_buffer(interpreter->program, name);
    return id != SUNDOG_BUFFER_NONE && interpreter->is_ours[id] ? interpreter->data[id] : NULL;
}

void *
sundog_interpreter_get_data(SundogInterpreter *interpreter, SundogBufferId id)
{
    g_assert(id < sundog_program_get_n_buffers(interpreter->program));
    return interpreter->data[id];
}

static SundogArgument
make_argument(const SundogInterpreter *interpreter, SundogBufferId id, const SundogShape *shape)
{
    const SundogExpressionPool *pool = sundog_program_get_expressions(interpreter->program);
    if (id == SUNDOG_BUFFER_NONE)
        return (SundogArgument){0};
    const SundogBuffer *buffer = sundog_program_get_buffer(interpreter->program, id);
    SundogArgument argument = {.data = interpreter->data[id],
                               .dtype = buffer->dtype,
                               .layout = buffer->layout,
                               .shape = {1, 1, 1, 1}};
    for (uint32_t d = 0; d < buffer->rank; d++)
        argument.shape[d] = sundog_expression_evaluate(pool, buffer->shape[d], shape);
    return argument;
}

void
sundog_interpreter_run_operation(SundogInterpreter *interpreter, uint32_t index,
                                 const SundogShape *shape, SundogHostSet set)
{
    const SundogOperation *operation = sundog_program_get_operation(interpreter->program, index);
    uint32_t n_units = (uint32_t)shape->values[SUNDOG_VARIABLE_UNITS];
    SundogArgument arguments[SUNDOG_MAX_ARGUMENTS];
    for (int a = 0; a < SUNDOG_MAX_ARGUMENTS; a++)
        arguments[a] = make_argument(interpreter, operation->arguments[a], shape);
    for (uint32_t unit = 0; unit < n_units; unit++) {
        const SundogCall call = {.arguments = arguments,
                                 .parameters = operation->parameters,
                                 .thread = unit,
                                 .n_threads = n_units};
        sundog_host_kernel(operation->kind, set)(&call);
    }
}

void
sundog_interpreter_run(SundogInterpreter *interpreter, const SundogShape *shape, SundogHostSet set)
{
    for (uint32_t i = 0; i < sundog_program_get_n_operations(interpreter->program); i++)
        sundog_interpreter_run_operation(interpreter, i, shape, set);
}
