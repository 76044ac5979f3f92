/* gated_delta: recurrent.h. */

#include "kernels/contract/sigmoid-mul.h"
#include "kernels/host/norm.h"
#include "kernels/host/recurrent.h"

#include <string.h>

enum { QKV, BETA, ALPHA, DECAY, STEP, FIRST_ROW, STATE = 8, Y };
enum { N_KEY_HEADS, KEY_DIM, VALUE_DIM, IS_TILED };

/* One value head. */
typedef struct {
    const SundogCall *call;
    int64_t head;
    int64_t n_heads;
    int64_t key_head;
    int64_t n_keys;   /* K */
    int64_t n_values; /* V */
} Head;

/* A row of one head: its query and key normed, and the scalars of its gates. */
typedef struct {
    float q[SUNDOG_DELTA_MAX_DIM];
    float k[SUNDOG_DELTA_MAX_DIM];
    const float *v;
    float decay;
    float beta;
} Row;

static void
scale(const float *x, int64_t n, float factor, float *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] * factor;
}

static void
read_row(const Head *head, int64_t t, Row *row)
{
    const SundogArgument *a = head->call->arguments;
    int64_t n = head->n_keys, n_key_heads = head->call->parameters[N_KEY_HEADS].i;
    const float *qkv = (const float *)a[QKV].data + t * a[QKV].shape[1];
    const float *q = qkv + head->key_head * n, *k = q + n_key_heads * n;
    int64_t at = t * head->n_heads + head->head;
    float alpha = ((const float *)a[ALPHA].data)[at] + ((const float *)a[STEP].data)[head->head];
    float decay = ((const float *)a[DECAY].data)[head->head];
    float q_factor = 1.0f / sqrtf(sundog_norm_sum(q, n) + SUNDOG_DELTA_EPSILON);
    scale(q, n, q_factor * (1.0f / sqrtf((float)n)), row->q);
    scale(k, n, 1.0f / sqrtf(sundog_norm_sum(k, n) + SUNDOG_DELTA_EPSILON), row->k);
    row->v = qkv + 2 * n_key_heads * n + head->head * head->n_values;
    row->decay = sundog_exp(decay * sundog_softplus(alpha));
    row->beta = sundog_sigmoid(((const float *)a[BETA].data)[at]);
}

/* Takes one row in and reads the state with its query. */
static void
run_row(const Head *head, const Row *row, float *state, float *restrict y)
{
    int64_t n = head->n_values;
    float delta[SUNDOG_DELTA_MAX_DIM] = {0};
    for (int64_t i = 0; i < head->n_keys; i++) {
        float *restrict s = state + i * n;
        for (int64_t j = 0; j < n; j++) {
            s[j] *= row->decay;
            delta[j] = fmaf(s[j], row->k[i], delta[j]);
        }
    }
    for (int64_t j = 0; j < n; j++) {
        delta[j] = (row->v[j] - delta[j]) * row->beta;
        y[j] = 0;
    }
    for (int64_t i = 0; i < head->n_keys; i++) {
        float *restrict s = state + i * n;
        for (int64_t j = 0; j < n; j++) {
            s[j] = fmaf(row->k[i], delta[j], s[j]);
            y[j] = fmaf(s[j], row->q[i], y[j]);
        }
    }
}

/* Nobody reads what the null slot's rows come to. */
static void
run_sequence(const Head *head, const SundogRecurrentSequence *sequence)
{
    const SundogArgument *y = &head->call->arguments[Y];
    float *state = sundog_recurrent_begin_head(sequence, head->head, head->n_keys * head->n_values);
    for (int64_t t = sequence->first_row; t < sequence->first_row + sequence->n_rows; t++) {
        float *to = (float *)y->data + t * y->shape[1] + head->head * head->n_values;
        Row row;
        if (state == NULL) {
            memset(to, 0, (size_t)head->n_values * sizeof(float));
            continue;
        }
        read_row(head, t, &row);
        run_row(head, &row, state, to);
    }
}

void
SUNDOG_KERNEL(GATED_DELTA)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    int64_t n_heads = a[BETA].shape[1], n_key_heads = call->parameters[N_KEY_HEADS].i;
    int64_t n_sequences = a[FIRST_ROW].shape[0] - 1;
    SundogRange pieces = sundog_split(call, n_sequences * n_heads);
    for (int64_t piece = pieces.begin; piece < pieces.end; piece++) {
        SundogRecurrentSequence sequence =
            sundog_recurrent_sequence(&a[FIRST_ROW], piece / n_heads);
        int64_t h = piece % n_heads;
        bool is_tiled = call->parameters[IS_TILED].i != 0;
        const Head head = {.call = call,
                           .head = h,
                           .n_heads = n_heads,
                           .key_head = is_tiled ? h % n_key_heads : h / (n_heads / n_key_heads),
                           .n_keys = call->parameters[KEY_DIM].i,
                           .n_values = call->parameters[VALUE_DIM].i};
        run_sequence(&head, &sequence);
    }
}
