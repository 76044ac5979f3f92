/*
 * Operation by operation: the fast kernel runs, its results are put aside, what it wrote over is put
 * back, the plain kernel runs on the same inputs, and the results are compared. The fast results stay,
 * so that the next operation sees the inputs that it would have in use.
 */

#include "engine/core/step.h"
#include "engine/prepare/interpreter.h"
#include "engine/prepare/verify-parts.h"

#include <math.h>
#include <string.h>

/* Of each kind in each step; plain kernels are slow, and a model's layers are alike. */
#define MAX_CALLS 6
/* Into how many shares each operation is cut: an odd number leaves uneven ones. */
#define N_UNITS 3
#define N_SEQUENCES 2
#define MAX_ROWS 24

/* A buffer that an operation writes. */
typedef struct {
    void *data;
    size_t n_bytes;
    bool is_float;
    uint8_t *before; /* what it holds before the operation */
    uint8_t *fast;   /* and after the fast kernel */
} Output;

typedef struct {
    SundogInterpreter *interpreter;
    const SundogProgram *program;
    SundogShape bounds;
    SundogShape shape;
    SundogHostSet set;
    SundogVerifyReport *report;
} Recorder;

static void *
get_buffer(void *of, const char *name)
{
    return sundog_interpreter_get_buffer(of, name);
}

static Output
output_new(const Recorder *recorder, SundogBufferId id)
{
    const SundogBuffer *buffer = sundog_program_get_buffer(recorder->program, id);
    /* State is as large as its pool, whatever the step. */
    const SundogShape *shape =
        buffer->role == SUNDOG_BUFFER_STATE ? &recorder->bounds : &recorder->shape;
    Output output = {.data = sundog_interpreter_get_data(recorder->interpreter, id),
                     .n_bytes = sundog_program_buffer_bytes(recorder->program, id, shape),
                     .is_float = buffer->dtype == SUNDOG_DTYPE_F32};
    output.before = g_memdup2(output.data, output.n_bytes);
    return output;
}

static uint32_t
collect_outputs(const Recorder *recorder, const SundogOperation *operation, Output *outputs)
{
    const SundogArgumentInfo *arguments = sundog_operations[operation->kind].arguments;
    uint32_t n = 0;
    for (int a = 0; arguments[a].name != NULL; a++)
        if (operation->arguments[a] != SUNDOG_BUFFER_NONE &&
            (arguments[a].access & SUNDOG_ACCESS_WRITE) != 0)
            outputs[n++] = output_new(recorder, operation->arguments[a]);
    return n;
}

static double
float_error(const float *fast, const float *plain, size_t n)
{
    double difference = 0;
    double length = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)fast[i] - plain[i];
        /* Equal infinities and NaN are equal results. */
        difference += memcmp(fast + i, plain + i, sizeof(float)) == 0 ? 0 : d * d;
        length += (double)plain[i] * plain[i];
    }
    return difference == 0 ? 0 : sqrt(difference / length);
}

static void
compare_output(const Output *output, SundogVerifyOperation *result)
{
    const uint8_t *plain = output->data;
    result->n_bytes += output->n_bytes;
    for (size_t i = 0; i < output->n_bytes; i++)
        result->n_different += plain[i] != output->fast[i];
    if (!output->is_float)
        return;
    double error =
        float_error((const float *)output->fast, output->data, output->n_bytes / sizeof(float));
    /* Written so that a NaN is kept. */
    if (!(error <= result->largest_error))
        result->largest_error = error;
}

static void
recompute(Recorder *recorder, uint32_t index)
{
    const SundogOperation *operation = sundog_program_get_operation(recorder->program, index);
    SundogVerifyOperation *result = &recorder->report->operations[operation->kind];
    Output outputs[SUNDOG_MAX_ARGUMENTS];
    uint32_t n = collect_outputs(recorder, operation, outputs);
    sundog_interpreter_run_operation(recorder->interpreter, index, &recorder->shape, recorder->set);
    for (uint32_t i = 0; i < n; i++) {
        outputs[i].fast = g_memdup2(outputs[i].data, outputs[i].n_bytes);
        memcpy(outputs[i].data, outputs[i].before, outputs[i].n_bytes);
    }
    sundog_interpreter_run_operation(recorder->interpreter, index, &recorder->shape,
                                     SUNDOG_HOST_PLAIN);
    for (uint32_t i = 0; i < n; i++) {
        compare_output(&outputs[i], result);
        memcpy(outputs[i].data, outputs[i].fast, outputs[i].n_bytes);
        g_free(outputs[i].before);
        g_free(outputs[i].fast);
    }
    result->n_calls++;
}

static uint32_t
count_calls(const SundogProgram *program, SundogOperationKind kind)
{
    uint32_t n_calls = 0;
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++)
        n_calls += sundog_program_get_operation(program, i)->kind == kind;
    return n_calls;
}

/* True for MAX_CALLS of the calls 0 to n_calls - 1, spread evenly, the first and last among them. */
static bool
is_sampled(uint32_t call, uint32_t n_calls)
{
    if (n_calls <= MAX_CALLS || call == 0)
        return true;
    return call * (MAX_CALLS - 1) / (n_calls - 1) != (call - 1) * (MAX_CALLS - 1) / (n_calls - 1);
}

static bool
run_step(Recorder *recorder, const SundogVerifyPart *parts, uint32_t n_parts,
         GCancellable *cancellable, GError **error)
{
    uint32_t n_before[SUNDOG_N_OPERATIONS] = {0};
    recorder->shape = recorder->bounds;
    sundog_verify_fill(get_buffer, recorder->interpreter, parts, n_parts, &recorder->shape);
    for (uint32_t i = 0; i < sundog_program_get_n_operations(recorder->program); i++) {
        SundogOperationKind kind = sundog_program_get_operation(recorder->program, i)->kind;
        if (g_cancellable_set_error_if_cancelled(cancellable, error))
            return false;
        if (is_sampled(n_before[kind]++, count_calls(recorder->program, kind)))
            recompute(recorder, i);
        else
            sundog_interpreter_run_operation(recorder->interpreter, i, &recorder->shape,
                                             recorder->set);
    }
    return true;
}

static bool
recorder_init(Recorder *recorder, const SundogCore *core, SundogVerifyReport *report,
              GError **error)
{
    const SundogProgram *forward = sundog_core_get_program(core, SUNDOG_PROGRAM_FORWARD);
    *recorder = (Recorder){.set = sundog_host_detect(), .report = report};
    recorder->bounds = *sundog_program_get_bounds(forward);
    recorder->bounds.values[SUNDOG_VARIABLE_TOKENS] = MAX_ROWS;
    recorder->bounds.values[SUNDOG_VARIABLE_LOGIT_ROWS] = MAX_ROWS;
    recorder->bounds.values[SUNDOG_VARIABLE_SEQUENCES] = N_SEQUENCES;
    recorder->bounds.values[SUNDOG_VARIABLE_SEQUENCE_PAGES] = SUNDOG_VERIFY_PAGES;
    recorder->bounds.values[SUNDOG_VARIABLE_POOL_PAGES] = 1 + N_SEQUENCES * SUNDOG_VERIFY_PAGES;
    if (recorder->bounds.values[SUNDOG_VARIABLE_WINDOW_PAGES] > 1)
        recorder->bounds.values[SUNDOG_VARIABLE_WINDOW_PAGES] =
            recorder->bounds.values[SUNDOG_VARIABLE_POOL_PAGES];
    recorder->bounds.values[SUNDOG_VARIABLE_POOL_STATES] = 1 + N_SEQUENCES;
    /* A GPU's programs are for one. */
    recorder->bounds.values[SUNDOG_VARIABLE_UNITS] =
        MIN(N_UNITS, recorder->bounds.values[SUNDOG_VARIABLE_UNITS]);
    recorder->interpreter =
        sundog_interpreter_new(core, SUNDOG_PROGRAM_FORWARD, &recorder->bounds, error);
    if (recorder->interpreter != NULL)
        recorder->program = sundog_interpreter_get_program(recorder->interpreter);
    return recorder->interpreter != NULL;
}

/* The first tokens of the first prompts: prefill of one, decoding beside prefill, decoding of both. */
static bool
run_steps(Recorder *recorder, const GPtrArray *prompts, const SundogVerifyOptions *options,
          GError **error)
{
    const GArray *a = prompts->pdata[0];
    const GArray *b = prompts->pdata[1];
    const int32_t *a_tokens = (const int32_t *)a->data;
    const int32_t *b_tokens = (const int32_t *)b->data;
    int32_t n_a = (int32_t)MIN(a->len, MAX_ROWS) - 1;
    int32_t n_b = (int32_t)MIN(b->len, MAX_ROWS - 1) - 1;
    const SundogVerifyPart steps[][N_SEQUENCES] = {
        {{.sequence = 0, .n_tokens = n_a, .tokens = a_tokens}},
        {{.sequence = 0, .start = n_a, .n_tokens = 1, .tokens = a_tokens + n_a},
         {.sequence = 1, .n_tokens = n_b, .tokens = b_tokens}},
        {{.sequence = 1, .start = n_b, .n_tokens = 1, .tokens = b_tokens + n_b},
         {.sequence = 0, .start = n_a, .n_tokens = 1, .tokens = a_tokens + n_a}},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
        if (!run_step(recorder, steps[i], i == 0 ? 1 : N_SEQUENCES, options->cancellable, error))
            return false;
        if (options->progress != NULL)
            options->progress("operations",
                              SUNDOG_VERIFY_STEPS_FRACTION * (double)(i + 1) / G_N_ELEMENTS(steps),
                              options->data);
    }
    return true;
}

bool
sundog_verify_operations(const SundogCore *core, const GPtrArray *prompts,
                         const SundogVerifyOptions *options, SundogVerifyReport *report,
                         GError **error)
{
    Recorder recorder;
    if (!recorder_init(&recorder, core, report, error))
        return false;
    report->kernels = sundog_host_set_name(recorder.set);
    bool ok = run_steps(&recorder, prompts, options, error);
    sundog_interpreter_free(recorder.interpreter);
    return ok;
}
