/* A core's programs against step.h: each input and output by name, type and shape. */

#include "engine/core/step-check.h"

#include "engine/core/operation-check.h"
#include "engine/core/step.h"
#include "engine/format/error.h"
#include "kernels/contract/sample.h"

#include <stdlib.h>
#include <string.h>

/* A dimension of step.h, or a number, as an expression. */
static SundogExpression
find_dimension(SundogExpressionPool *scratch, const char *text)
{
    g_auto(GStrv) terms = g_strsplit(text, "+", 2);
    if (g_ascii_isdigit(text[0]))
        return sundog_expression_constant(scratch, g_ascii_strtoll(text, NULL, 10));
    SundogVariable variable = sundog_variable_find(terms[0]);
    g_assert(variable != SUNDOG_N_VARIABLES);
    SundogExpression dimension = sundog_expression_variable(scratch, variable);
    if (terms[1] == NULL)
        return dimension;
    return sundog_expression_binary(scratch, SUNDOG_EXPRESSION_ADD, dimension,
                                    sundog_expression_constant(scratch, 1));
}

static bool
shape_matches(const SundogBuffer *buffer, SundogExpressionPool *scratch, const char *shape)
{
    g_auto(GStrv) dimensions = g_strsplit(shape, " ", 4);
    if (buffer->rank != g_strv_length(dimensions))
        return false;
    for (uint32_t d = 0; d < buffer->rank; d++)
        if (find_dimension(scratch, dimensions[d]) != buffer->shape[d])
            return false;
    return true;
}

static void
check_buffer(const SundogProgram *program, const char *name, SundogBufferRole role,
             SundogDtype dtype, const char *shape, GString *faults)
{
    SundogBufferId id = sundog_program_find_buffer(program, name);
    if (id == SUNDOG_BUFFER_NONE) {
        sundog_faults_add(faults, "\"%s\" is missing", name);
        return;
    }
    const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
    g_autoptr(SundogExpressionPool) scratch =
        sundog_expression_pool_copy(sundog_program_get_expressions(program));
    if (buffer->role != role || buffer->dtype != dtype || !shape_matches(buffer, scratch, shape))
        sundog_faults_add(faults, "\"%s\" is not %s [%s], as the token engine takes it", name,
                          sundog_dtype_name(dtype), shape);
}

static bool
is_known(const char *name, const char *const *known)
{
    for (; *known != NULL; known++)
        if (strcmp(*known, name) == 0)
            return true;
    return false;
}

/* An input that nobody fills would be read as whatever lies there. */
static void
refuse_others(const SundogProgram *program, const char *const *known, GString *faults)
{
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        bool outside = buffer->role == SUNDOG_BUFFER_INPUT || buffer->role == SUNDOG_BUFFER_OUTPUT;
        if (outside && !is_known(buffer->name, known))
            sundog_faults_add(faults, "\"%s\" is not known to the token engine", buffer->name);
    }
}

static bool
finish(const SundogProgram *program, const GString *faults, GError **error)
{
    if (faults->len > 0)
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID, "program \"%s\": %s",
                    sundog_program_get_name(program), faults->str);
    return faults->len == 0;
}

/* Inputs that every forward program has, and those that it may have. */
static void
check_inputs(const SundogProgram *program, GString *faults)
{
#define X(name, text, dtype, shape) \
    check_buffer(program, text, SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_##dtype, shape, faults);
    SUNDOG_STEP_INPUTS(X)
#undef X
#define X(name, text, dtype, shape)                                      \
    if (sundog_program_find_buffer(program, text) != SUNDOG_BUFFER_NONE) \
        check_buffer(program, text, SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_##dtype, shape, faults);
    SUNDOG_STEP_LOGIT_INPUTS(X)
    SUNDOG_STEP_STATE_INPUTS(X)
    SUNDOG_STEP_RESULT_INPUTS(X)
#undef X
}

bool
sundog_step_check_forward(const SundogProgram *program, uint32_t n_vocabulary, GError **error)
{
    static const char *const known[] = {
#define X(name, text, dtype, shape) text,
        SUNDOG_STEP_INPUTS(X) SUNDOG_STEP_LOGIT_INPUTS(X) SUNDOG_STEP_STATE_INPUTS(X)
#undef X
            SUNDOG_STEP_HIDDEN,
        "logits", NULL};
    g_autoptr(GString) faults = g_string_new(NULL);
    g_autofree char *logits = g_strdup_printf("logit_rows %u", n_vocabulary);
    check_inputs(program, faults);
    if (sundog_program_find_buffer(program, "logit_rows") == SUNDOG_BUFFER_NONE)
        sundog_faults_add(faults, "\"logit_rows\" is missing");
    check_buffer(program, "logits", SUNDOG_BUFFER_OUTPUT, SUNDOG_DTYPE_F32, logits, faults);
    refuse_others(program, known, faults);
    return finish(program, faults, error);
}

/* Columns of an output that what guesses takes; 0 where there is none. */
static int64_t
find_hidden_size(const SundogProgram *forward)
{
    int64_t size = 0;
    SundogBufferId id = sundog_program_find_buffer(forward, SUNDOG_STEP_HIDDEN);
    if (id != SUNDOG_BUFFER_NONE && sundog_program_get_buffer(forward, id)->rank == 2)
        sundog_expression_get_constant(sundog_program_get_expressions(forward),
                                       sundog_program_get_buffer(forward, id)->shape[1], &size);
    return size;
}

bool
sundog_step_check_draft(const SundogProgram *program, const SundogProgram *forward,
                        uint32_t n_vocabulary, GError **error)
{
    static const char *const known[] = {
#define X(name, text, dtype, shape) text,
        SUNDOG_STEP_INPUTS(X) SUNDOG_STEP_LOGIT_INPUTS(X)
#undef X
            SUNDOG_STEP_HIDDEN,
        SUNDOG_STEP_DRAFT_HIDDEN, "logits", NULL};
    g_autoptr(GString) faults = g_string_new(NULL);
    int64_t size = find_hidden_size(forward);
    g_autofree char *logits = g_strdup_printf("logit_rows %u", n_vocabulary);
    g_autofree char *hidden = g_strdup_printf("tokens %" G_GINT64_FORMAT, size);
    g_autofree char *next = g_strdup_printf("logit_rows %" G_GINT64_FORMAT, size);
    check_inputs(program, faults);
    check_buffer(program, "logit_rows", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_I32, "logit_rows",
                 faults);
    check_buffer(program, "logits", SUNDOG_BUFFER_OUTPUT, SUNDOG_DTYPE_F32, logits, faults);
    check_buffer(program, SUNDOG_STEP_HIDDEN, SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_F32, hidden,
                 faults);
    check_buffer(forward, SUNDOG_STEP_HIDDEN, SUNDOG_BUFFER_OUTPUT, SUNDOG_DTYPE_F32, hidden,
                 faults);
    check_buffer(program, SUNDOG_STEP_DRAFT_HIDDEN, SUNDOG_BUFFER_OUTPUT, SUNDOG_DTYPE_F32, next,
                 faults);
    refuse_others(program, known, faults);
    return finish(program, faults, error);
}

bool
sundog_step_check_result(const SundogProgram *program, uint32_t n_outputs, GError **error)
{
    static const char *const known[] = {
#define X(name, text, dtype, shape) text,
        SUNDOG_STEP_INPUTS(X) SUNDOG_STEP_RESULT_INPUTS(X)
#undef X
            "result",
        NULL};
    g_autoptr(GString) faults = g_string_new(NULL);
    g_autofree char *result = g_strdup_printf("sequences %u", n_outputs);
    check_inputs(program, faults);
    check_buffer(program, "result", SUNDOG_BUFFER_OUTPUT, SUNDOG_DTYPE_F32, result, faults);
    refuse_others(program, known, faults);
    return finish(program, faults, error);
}

bool
sundog_step_check_sample(const SundogProgram *program, uint32_t n_vocabulary, GError **error)
{
    static const char *const known[] = {"logits", "sampling", "history", "mask",
                                        "bias",   "token",    "scores",  NULL};
    g_autoptr(GString) faults = g_string_new(NULL);
    g_autofree char *logits = g_strdup_printf("logit_rows %u", n_vocabulary);
    g_autofree char *sampling = g_strdup_printf("logit_rows %zu", sizeof(SundogSampling));
    check_buffer(program, "logits", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_F32, logits, faults);
    check_buffer(program, "sampling", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_U8, sampling, faults);
    check_buffer(program, "history", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_I32, "logit_rows history",
                 faults);
    check_buffer(program, "mask", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_I32, "logit_rows mask", faults);
    check_buffer(program, "bias", SUNDOG_BUFFER_INPUT, SUNDOG_DTYPE_I32, "logit_rows bias", faults);
    check_buffer(program, "token", SUNDOG_BUFFER_OUTPUT, SUNDOG_DTYPE_I32, "logit_rows", faults);
    if (sundog_program_find_buffer(program, "scores") != SUNDOG_BUFFER_NONE) {
        g_autofree char *scores =
            g_strdup_printf("logit_rows %d", SUNDOG_MAX_SCORES * SUNDOG_SCORE_WORDS);
        check_buffer(program, "scores", SUNDOG_BUFFER_OUTPUT, SUNDOG_DTYPE_I32, scores, faults);
    }
    refuse_others(program, known, faults);
    return finish(program, faults, error);
}
