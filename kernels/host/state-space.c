/* state_space: recurrent.h. */

#include "kernels/host/recurrent.h"

#include <string.h>

/* Values that one pass takes of a head: as many as sums of them stay in registers. */
#define COLUMNS 64

enum { XBC, DT, DECAY, STEP, SKIP, FIRST_ROW, STATE = 8, Y };
enum { N_GROUPS, KEY_DIM, VALUE_DIM };

/* One head. */
typedef struct {
    const SundogCall *call;
    int64_t head;
    int64_t n_heads;
    int64_t group;
    int64_t n_keys;   /* K */
    int64_t n_values; /* V */
} Head;

/* A row of one head. */
typedef struct {
    const float *x;
    const float *b;
    const float *c;
    float step;
    float decay;
    float skip;
} Row;

static Row
read_row(const Head *head, int64_t t)
{
    const SundogArgument *a = head->call->arguments;
    const float *x = (const float *)a[XBC].data + t * a[XBC].shape[1];
    const float *b = x + head->n_heads * head->n_values + head->group * head->n_keys;
    float dt = ((const float *)a[DT].data)[t * head->n_heads + head->head];
    float step = sundog_softplus(dt + ((const float *)a[STEP].data)[head->head]);
    return (Row){.x = x + head->head * head->n_values,
                 .b = b,
                 .c = b + head->call->parameters[N_GROUPS].i * head->n_keys,
                 .step = step,
                 .decay = sundog_exp(((const float *)a[DECAY].data)[head->head] * step),
                 .skip = ((const float *)a[SKIP].data)[head->head]};
}

/* Takes n values of one row in and reads the state. */
static inline void
run_columns(const Head *head, const Row *row, float *state, int64_t first, int64_t n, float *to)
{
    const float *restrict x = row->x + first;
    float y[COLUMNS];
    for (int64_t j = 0; j < n; j++)
        y[j] = row->skip * x[j];
    for (int64_t i = 0; i < head->n_keys; i++) {
        float *restrict s = state + i * head->n_values + first;
        float b = row->b[i] * row->step, c = row->c[i];
        for (int64_t j = 0; j < n; j++) {
            s[j] = fmaf(b, x[j], s[j] * row->decay);
            y[j] = fmaf(s[j], c, y[j]);
        }
    }
    memcpy(to + first, y, (size_t)n * sizeof(float));
}

static void
run_row(const Head *head, const Row *row, float *state, float *to)
{
    int64_t first = 0;
    for (; first + COLUMNS <= head->n_values; first += COLUMNS)
        run_columns(head, row, state, first, COLUMNS, to);
    if (first < head->n_values)
        run_columns(head, row, state, first, head->n_values - first, to);
}

/* Nobody reads what the null slot's rows come to. */
static void
run_sequence(const Head *head, const SundogRecurrentSequence *sequence)
{
    const SundogArgument *y = &head->call->arguments[Y];
    float *state = sundog_recurrent_begin_head(sequence, head->head, head->n_keys * head->n_values);
    for (int64_t t = sequence->first_row; t < sequence->first_row + sequence->n_rows; t++) {
        float *to = (float *)y->data + t * y->shape[1] + head->head * head->n_values;
        if (state == NULL) {
            memset(to, 0, (size_t)head->n_values * sizeof(float));
            continue;
        }
        const Row row = read_row(head, t);
        run_row(head, &row, state, to);
    }
}

void
SUNDOG_KERNEL(STATE_SPACE)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    int64_t n_heads = a[DT].shape[1], n_sequences = a[FIRST_ROW].shape[0] - 1;
    SundogRange pieces = sundog_split(call, n_sequences * n_heads);
    for (int64_t piece = pieces.begin; piece < pieces.end; piece++) {
        SundogRecurrentSequence sequence =
            sundog_recurrent_sequence(&a[FIRST_ROW], piece / n_heads);
        int64_t h = piece % n_heads;
        const Head head = {.call = call,
                           .head = h,
                           .n_heads = n_heads,
                           .group = h / (n_heads / call->parameters[N_GROUPS].i),
                           .n_keys = call->parameters[KEY_DIM].i,
                           .n_values = call->parameters[VALUE_DIM].i};
        run_sequence(&head, &sequence);
    }
}
