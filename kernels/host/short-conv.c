/* short_conv: recurrent.h. */

#include "kernels/host/recurrent.h"

#include <math.h>
#include <string.h>

/* Channels that one thread takes at once: a line of the cache in a row of the step. */
#define CHANNELS 64

enum { X, WEIGHT, BIAS, FIRST_ROW, STATE = 6, Y };

typedef struct {
    const SundogArgument *arguments;
    int64_t n_channels;
    int64_t width;
    bool silu;
    SundogRange channels; /* at most CHANNELS */
} Conv;

/* Inputs of these channels, `back` rows before row 0 of the sequence, or zero. */
static const float *
find_input(const Conv *conv, const SundogRecurrentSequence *sequence, int64_t row)
{
    static const float zero[CHANNELS];
    if (row >= 0)
        return (const float *)conv->arguments[X].data +
               (sequence->first_row + row) * conv->n_channels + conv->channels.begin;
    if (sequence->is_empty)
        return zero;
    return sequence->state + (conv->width - 1 + row) * conv->n_channels + conv->channels.begin;
}

static void
run_row(const Conv *conv, const SundogRecurrentSequence *sequence, int64_t row)
{
    int64_t n = conv->channels.end - conv->channels.begin, begin = conv->channels.begin;
    const float *weight = (const float *)conv->arguments[WEIGHT].data + begin * conv->width;
    const float *bias = conv->arguments[BIAS].data;
    float *y =
        (float *)conv->arguments[Y].data + (sequence->first_row + row) * conv->n_channels + begin;
    for (int64_t c = 0; c < n; c++)
        y[c] = bias != NULL ? bias[begin + c] : 0;
    for (int64_t j = 0; j < conv->width; j++) {
        const float *x = find_input(conv, sequence, row - conv->width + 1 + j);
        for (int64_t c = 0; c < n; c++)
            y[c] = fmaf(weight[c * conv->width + j], x[c], y[c]);
    }
    for (int64_t c = 0; c < n && conv->silu; c++)
        y[c] = y[c] / (1.0f + sundog_exp(-y[c]));
}

/* Rising, so that what is moved down has not been written over. */
static void
keep_inputs(const Conv *conv, const SundogRecurrentSequence *sequence)
{
    size_t n_bytes = (size_t)(conv->channels.end - conv->channels.begin) * sizeof(float);
    for (int64_t i = 0; i < conv->width - 1; i++) {
        int64_t row = sequence->n_rows - conv->width + 1 + i;
        float *to = sequence->state + i * conv->n_channels + conv->channels.begin;
        const float *from = find_input(conv, sequence, row);
        if (from != to)
            memcpy(to, from, n_bytes);
    }
}

void
SUNDOG_KERNEL(SHORT_CONV)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    Conv conv = {.arguments = a,
                 .n_channels = a[X].shape[1],
                 .width = call->parameters[0].i,
                 .silu = call->parameters[1].i != 0};
    int64_t n_sequences = a[FIRST_ROW].shape[0] - 1;
    SundogRange blocks = sundog_split(call, sundog_ceil_div(conv.n_channels, CHANNELS));
    for (int64_t block = blocks.begin; block < blocks.end; block++) {
        conv.channels.begin = block * CHANNELS;
        conv.channels.end = sundog_min(conv.channels.begin + CHANNELS, conv.n_channels);
        for (int64_t s = 0; s < n_sequences; s++) {
            SundogRecurrentSequence sequence = sundog_recurrent_sequence(&a[FIRST_ROW], s);
            for (int64_t row = 0; row < sequence.n_rows; row++)
                run_row(&conv, &sequence, row);
            if (sequence.state != NULL)
                keep_inputs(&conv, &sequence);
        }
    }
}
