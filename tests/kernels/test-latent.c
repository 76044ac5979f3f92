/* What attention over latents adds: products by heads against linear, bit for bit, and queries, keys and
 * values put in their places. All sets against the plain kernels. */

#include "kernels/contract/linear.h"
#include "kernels/contract/rms-norm.h"
#include "tests/kernels/call.h"
#include <glib.h>
#include <math.h>

#define MAX_THREADS 7

typedef struct {
    SundogLayout layout;
    int64_t n_tokens, n_heads, n_rows, n_columns, offset, stride;
} Shape;

static Shape
random_shape(TestRandom *random)
{
    static const SundogLayout layouts[] = {SUNDOG_LAYOUT_PANEL16_F32, SUNDOG_LAYOUT_PANEL16_BF16,
                                           SUNDOG_LAYOUT_PANEL16_F16, SUNDOG_LAYOUT_PANEL16_Q8_0};
    int layout = (int)test_random_int(random, 0, 3);
    Shape shape = {.layout = layouts[layout],
                   .n_tokens = test_random_int(random, 1, 30),
                   .n_heads = test_random_int(random, 1, 5),
                   .n_rows = 16 * test_random_int(random, 1, 5),
                   .offset = test_random_int(random, 0, 9)};
    shape.n_columns =
        layout == 3 ? 32 * test_random_int(random, 1, 3) : test_random_int(random, 1, 90);
    shape.stride = shape.offset + shape.n_columns + test_random_int(random, 0, 5);
    return shape;
}

/* One head alone, its columns copied out of every token. */
static void
check_head(const TestCall *heads, const Shape *shape, int64_t head)
{
    int64_t n_heads = shape->n_heads, n = shape->n_rows, k = shape->n_columns;
    const float *a = heads->arguments[0].data, *y = heads->arguments[2].data;
    g_autofree float *own = g_new(float, shape->n_tokens *k);
    g_autofree float *result = g_new(float, shape->n_tokens *n);
    SundogArgument arguments[6] = {
        {.data = own, .dtype = SUNDOG_DTYPE_F32, .shape = {shape->n_tokens, k, 1, 1}},
        heads->arguments[1],
        {0},
        {0},
        {.data = result, .dtype = SUNDOG_DTYPE_F32, .shape = {shape->n_tokens, n, 1, 1}},
        heads->arguments[3]};
    arguments[1].data =
        (uint8_t *)arguments[1].data +
        (size_t)(head * n / SUNDOG_PANEL_ROWS) * sundog_layout_panel_bytes(shape->layout, k);
    arguments[1].shape[0] = n;
    for (int64_t t = 0; t < shape->n_tokens; t++)
        memcpy(own + t * k, a + (t * n_heads + head) * shape->stride + shape->offset,
               (size_t)k * sizeof(float));
    const SundogCall call = {.arguments = arguments, .n_threads = 1};
    sundog_host_kernel(SUNDOG_OP_LINEAR, SUNDOG_HOST_PLAIN)(&call);
    for (int64_t t = 0; t < shape->n_tokens; t++)
        g_assert_cmpmem(y + (t * n_heads + head) * n, (size_t)n * sizeof(float), result + t * n,
                        (size_t)n * sizeof(float));
}

static void
test_linear_heads(void)
{
    TestRandom random = {21};
    for (int i = 0; i < 150; i++) {
        Shape shape = random_shape(&random);
        TestCall call;
        test_call_init(&call, SUNDOG_OP_LINEAR_HEADS);
        test_call_add_floats(&call, shape.n_tokens, shape.n_heads * shape.stride, &random);
        test_call_add_weight(&call, shape.layout, shape.n_heads * shape.n_rows, shape.n_columns,
                             &random);
        test_call_add(&call, SUNDOG_DTYPE_F32, shape.n_tokens, shape.n_heads * shape.n_rows);
        test_call_add(&call, SUNDOG_DTYPE_U8, MAX_THREADS,
                      (int64_t)sundog_linear_workspace_bytes(shape.n_columns));
        call.parameters[0].i = shape.n_heads;
        call.parameters[1].i = shape.offset;
        test_call_check_all_sets(&call);
        for (int64_t head = 0; head < shape.n_heads; head++)
            check_head(&call, &shape, head);
        test_call_clear(&call);
    }
}

/* Of the value at column c of head h (the key is head n_heads, the value the one after). */
static double
expected_value(const TestCall *call, int64_t t, int64_t h, int64_t c)
{
    int64_t n_heads = call->parameters[0].i, size = call->parameters[2].i;
    int64_t n_rope = call->parameters[3].i, n_latent = size - n_rope;
    const float *q = call->arguments[0].data, *absorbed = call->arguments[1].data;
    const float *latent = (const float *)call->arguments[2].data + t * size;
    int64_t stride = call->arguments[0].shape[1] / n_heads;
    double sum = 0;
    if (h < n_heads && c < n_rope)
        return q[(t * n_heads + h + 1) * stride - n_rope + c];
    if (h < n_heads)
        return absorbed[(t * n_heads + h) * n_latent + c - n_rope];
    if (c < n_rope)
        return latent[n_latent + c];
    for (int64_t i = 0; i < n_latent; i++)
        sum += (double)latent[i] * latent[i];
    return latent[c - n_rope] / sqrt(sum / (double)n_latent + 1e-5) *
           ((const float *)call->arguments[3].data)[c - n_rope];
}

static void
test_latent_qkv(void)
{
    TestRandom random = {22};
    for (int i = 0; i < 40; i++) {
        int64_t n_tokens = test_random_int(&random, 1, 9), n_heads = test_random_int(&random, 1, 4);
        int64_t n_rope = 2 * test_random_int(&random, 1, 8);
        int64_t n_latent = test_random_int(&random, 1, 70), size = n_latent + n_rope;
        TestCall call;
        test_call_init(&call, SUNDOG_OP_LATENT_QKV);
        test_call_add_floats(&call, n_tokens, n_heads * (n_rope + test_random_int(&random, 0, 20)),
                             &random);
        test_call_add_floats(&call, n_tokens, n_heads * n_latent, &random);
        test_call_add_floats(&call, n_tokens, size, &random);
        test_call_add_floats(&call, 1, n_latent, &random);
        float *qkv = test_call_add(&call, SUNDOG_DTYPE_F32, n_tokens, (n_heads + 2) * size);
        const SundogParameter parameters[] = {
            {.i = n_heads}, {.i = 1}, {.i = size}, {.i = n_rope}, {.f = 1e-5}};
        memcpy(call.parameters, parameters, sizeof parameters);
        test_call_check_all_sets(&call);
        for (int64_t j = 0; j < n_tokens * (n_heads + 2) * size; j++) {
            int64_t t = j / ((n_heads + 2) * size), h = j / size % (n_heads + 2);
            double value = expected_value(&call, t, h, j % size);
            g_assert_cmpfloat(fabs(qkv[j] - value), <=, 1e-6 * (1 + fabs(value)));
        }
        test_call_clear(&call);
    }
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/latent/linear-heads", test_linear_heads);
    g_test_add_func("/kernels/latent/latent-qkv", test_latent_qkv);
    return g_test_run();
}
