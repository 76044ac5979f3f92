/* Programs as lists of calls. */

#include "engine/replay/call-list.h"

#include <string.h>
#include <time.h>

typedef struct {
    SundogOperationKind kind;
    SundogKernel kernel;
    const SundogArgument *arguments;
    const SundogParameter *parameters;
} Call;

/* Where a size that depends on the shape goes. */
typedef struct {
    int64_t *target;
    SundogExpression expression;
} Size;

struct SundogCallList {
    const SundogProgram *program;
    Call *calls;
    uint32_t n_calls;
    SundogArgument *arguments; /* [n_calls, SUNDOG_MAX_ARGUMENTS] */
    GArray *sizes;             /* of Size */
    int64_t *values;           /* of all expressions at the shape */
    SundogShape shape;
    bool has_shape;
    SundogThreadPool *pool; /* while running */
    int64_t *times_ns;      /* [SUNDOG_N_OPERATIONS], or NULL */
};

static void
set_size(SundogCallList *list, int64_t *target, SundogExpression expression)
{
    const SundogExpressionPool *pool = sundog_program_get_expressions(list->program);
    Size size = {.target = target, .expression = expression};
    if (!sundog_expression_get_constant(pool, expression, target))
        g_array_append_val(list->sizes, size);
}

static void
bind_argument(SundogCallList *list, SundogArgument *argument, SundogBufferId id, void *const *data)
{
    for (int d = 0; d < 4; d++)
        argument->shape[d] = 1;
    if (id == SUNDOG_BUFFER_NONE)
        return;
    const SundogBuffer *buffer = sundog_program_get_buffer(list->program, id);
    argument->data = data[id];
    argument->dtype = buffer->dtype;
    argument->layout = buffer->layout;
    for (uint32_t d = 0; d < buffer->rank; d++)
        set_size(list, &argument->shape[d], buffer->shape[d]);
}

SundogCallList *
sundog_call_list_new(const SundogProgram *program, SundogHostSet set, void *const *data)
{
    SundogCallList *list = g_new0(SundogCallList, 1);
    list->program = program;
    list->n_calls = sundog_program_get_n_operations(program);
    list->calls = g_new0(Call, list->n_calls);
    list->arguments = g_new0(SundogArgument, list->n_calls * SUNDOG_MAX_ARGUMENTS);
    list->sizes = g_array_new(FALSE, FALSE, sizeof(Size));
    list->values =
        g_new0(int64_t, sundog_expression_pool_get_n(sundog_program_get_expressions(program)));
    for (uint32_t i = 0; i < list->n_calls; i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        SundogArgument *arguments = list->arguments + i * SUNDOG_MAX_ARGUMENTS;
        for (uint32_t a = 0; a < SUNDOG_MAX_ARGUMENTS; a++)
            bind_argument(list, &arguments[a], operation->arguments[a], data);
        list->calls[i] = (Call){.kind = operation->kind,
                                .kernel = sundog_host_kernel(operation->kind, set),
                                .arguments = arguments,
                                .parameters = operation->parameters};
    }
    return list;
}

void
sundog_call_list_free(SundogCallList *list)
{
    if (list == NULL)
        return;
    g_free(list->calls);
    g_free(list->arguments);
    g_free(list->values);
    g_array_unref(list->sizes);
    g_free(list);
}

void
sundog_call_list_set_shape(SundogCallList *list, const SundogShape *shape)
{
    if (list->has_shape && memcmp(&list->shape, shape, sizeof *shape) == 0)
        return;
    const SundogExpressionPool *pool = sundog_program_get_expressions(list->program);
    uint32_t n = sundog_expression_pool_get_n(pool);
    for (uint32_t i = 0; i < n; i++)
        list->values[i] = sundog_expression_evaluate(pool, i, shape);
    for (uint32_t i = 0; i < list->sizes->len; i++) {
        const Size *size = &g_array_index(list->sizes, Size, i);
        *size->target = list->values[size->expression];
    }
    list->shape = *shape;
    list->has_shape = true;
}

static int64_t
now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void
run_calls(void *data, unsigned thread, unsigned n_threads)
{
    const SundogCallList *list = data;
    int64_t *times_ns = thread == 0 ? list->times_ns : NULL;
    int64_t start = times_ns != NULL ? now_ns() : 0;
    for (uint32_t i = 0; i < list->n_calls; i++) {
        SundogCall call = {.arguments = list->calls[i].arguments,
                           .parameters = list->calls[i].parameters,
                           .thread = thread,
                           .n_threads = n_threads};
        list->calls[i].kernel(&call);
        if (i + 1 < list->n_calls)
            sundog_thread_pool_barrier(list->pool, thread);
        if (times_ns != NULL) {
            int64_t end = now_ns();
            times_ns[list->calls[i].kind] += end - start;
            start = end;
        }
    }
}

void
sundog_call_list_run(SundogCallList *list, SundogThreadPool *pool)
{
    list->pool = pool;
    sundog_thread_pool_run(pool, run_calls, list);
}

void
sundog_call_list_set_times(SundogCallList *list, int64_t *times_ns)
{
    list->times_ns = times_ns;
}
