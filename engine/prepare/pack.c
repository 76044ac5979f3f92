/* Weights from the model's file to the core's member, piece by piece. */

#include "engine/prepare/pack.h"

#include "engine/format/error.h"
#include "engine/prepare/convert.h"
#include "kernels/contract/layout.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* Bytes of a piece, unless one panel alone is larger: enough that handing it over costs nothing. */
#define PIECE_BYTES (1u << 20)

/* Whole panels of one weight, packed by one worker. */
typedef struct {
    const SundogPlannedWeight *planned;
    int64_t first_panel;
    int64_t n_panels;
    uint8_t *bytes; /* [n_bytes] */
    size_t n_bytes;
    size_t capacity;
    bool is_last; /* of its weight */
    bool failed;  /* a value could not be encoded */
    SundogQuantizationError error;
    bool is_done; /* under the packing's lock */
} Piece;

typedef struct {
    const SundogPlan *plan;
    GThreadPool *workers;
    /* Not GLib's, whose futexes the thread sanitizer cannot see. */
    pthread_mutex_t lock;
    pthread_cond_t done;
    Piece *pieces; /* [n_pieces] a ring: piece number i lies at i modulo n_pieces */
    unsigned n_pieces;
    /* where the next piece begins */
    guint weight;
    int64_t panel;
} Packing;

/* A vector as float32; GGUF's encoding of half precision is widened without loss. */
static void
pack_vector(const SundogPlannedWeight *planned, uint8_t *bytes)
{
    int64_t n_columns = planned->weight.n_columns;
    if (planned->constant != NULL) {
        memcpy(bytes, planned->constant->values, (size_t)n_columns * sizeof(float));
        return;
    }
    SundogLayout layout = sundog_layout_for_gguf_type(planned->tensor->type);
    g_autofree uint8_t *panel = g_malloc(sundog_layout_panel_bytes(layout, n_columns));
    /* Through an array of floats, since the piece need not be aligned for them. */
    g_autofree float *values = g_new(float, n_columns);
    g_autofree uint8_t *scratch = g_malloc(planned->tensor->n_bytes);
    const uint8_t *row = sundog_tensor_get_rows(planned->tensor, 0, 1, scratch);
    sundog_layout_pack_panel(layout, row, 1, n_columns, panel);
    sundog_layout_dequantize_row(layout, panel, 0, n_columns, values);
    memcpy(bytes, values, (size_t)n_columns * sizeof(float));
}

/* Rows of any type as floats, [n_rows][n_columns]. */
static void
widen_rows(const SundogTensor *tensor, const uint8_t *rows, int64_t n_rows, float *values)
{
    int64_t n_columns = (int64_t)tensor->n_columns;
    SundogLayout layout = sundog_layout_for_gguf_type(tensor->type);
    g_autofree uint8_t *panel = NULL;
    if (sundog_layout_is_quantized(layout)) {
        panel = g_malloc(sundog_layout_panel_bytes(layout, n_columns));
        sundog_layout_pack_panel(layout, rows, n_rows, n_columns, panel);
    }
    for (int64_t r = 0; r < n_rows; r++) {
        float *to = values + r * n_columns;
        if (panel != NULL)
            sundog_layout_dequantize_row(layout, panel, r, n_columns, to);
        else
            sundog_widen_row(tensor->type, rows + (size_t)r * sundog_tensor_row_bytes(tensor),
                             n_columns, to);
    }
}

/* Rows in the type that is packed, one after the other. */
static void
encode_rows(Piece *piece, const uint8_t *rows, int64_t n_rows, uint8_t *encoded)
{
    const SundogTensor *tensor = piece->planned->tensor;
    uint32_t type = piece->planned->type;
    int64_t n_columns = piece->planned->weight.n_columns;
    bool is_converted = type == SUNDOG_GGUF_BF16 ||
                        sundog_layout_is_quantized(sundog_layout_for_gguf_type(tensor->type));
    size_t row_bytes = sundog_gguf_row_bytes(type, (uint64_t)n_columns);
    g_autofree float *values = g_new(float, n_rows *n_columns);
    widen_rows(tensor, rows, n_rows, values);
    for (int64_t r = 0; r < n_rows; r++) {
        const uint8_t *row = rows + (size_t)r * sundog_tensor_row_bytes(tensor);
        const float *wide = values + r * n_columns;
        uint8_t *to = encoded + (size_t)r * row_bytes;
        if (!(is_converted
                  ? sundog_convert_row(tensor->type, row, wide, n_columns, type, to, &piece->error)
                  : sundog_quantize_row(type, wide, n_columns, to, &piece->error)))
            piece->failed = true;
    }
}

static void
pack_panels(Piece *piece)
{
    const SundogTensor *tensor = piece->planned->tensor;
    const SundogCoreWeight *weight = &piece->planned->weight;
    uint32_t type = piece->planned->type;
    size_t panel_bytes = sundog_layout_panel_bytes(weight->layout, weight->n_columns);
    g_autofree uint8_t *scratch = g_malloc(SUNDOG_PANEL_ROWS * sundog_tensor_row_bytes(tensor));
    g_autofree uint8_t *encoded =
        type != tensor->type ? g_malloc0(SUNDOG_PANEL_ROWS *
                                         sundog_gguf_row_bytes(type, (uint64_t)weight->n_columns))
                             : NULL;
    for (int64_t i = 0; i < piece->n_panels; i++) {
        int64_t row = (piece->first_panel + i) * SUNDOG_PANEL_ROWS;
        int64_t n_rows = MIN(SUNDOG_PANEL_ROWS, weight->n_rows - row);
        const uint8_t *rows =
            sundog_tensor_get_rows(tensor, (uint64_t)row, (uint64_t)n_rows, scratch);
        if (encoded != NULL)
            encode_rows(piece, rows, n_rows, encoded);
        sundog_layout_pack_panel(weight->layout, encoded != NULL ? encoded : rows, n_rows,
                                 weight->n_columns, piece->bytes + (size_t)i * panel_bytes);
    }
}

static void
pack_piece(gpointer item, gpointer user_data)
{
    Piece *piece = item;
    Packing *packing = user_data;
    memset(piece->bytes, 0, piece->n_bytes);
    if (piece->planned->weight.layout == SUNDOG_LAYOUT_DENSE_F32)
        pack_vector(piece->planned, piece->bytes);
    else
        pack_panels(piece);
    pthread_mutex_lock(&packing->lock);
    piece->is_done = true;
    pthread_cond_signal(&packing->done);
    pthread_mutex_unlock(&packing->lock);
}

static int64_t
count_panels(const SundogCoreWeight *weight)
{
    if (weight->layout == SUNDOG_LAYOUT_DENSE_F32)
        return 1;
    return (weight->n_rows + SUNDOG_PANEL_ROWS - 1) / SUNDOG_PANEL_ROWS;
}

/* Hands the next piece to the workers; false where there is none left. The last piece of a weight
 * carries the zeros up to where the next weight begins. */
static bool
start_piece(Packing *packing, Piece *piece)
{
    if (packing->weight == packing->plan->weights->len)
        return false;
    const SundogPlannedWeight *planned =
        &g_array_index(packing->plan->weights, SundogPlannedWeight, packing->weight);
    size_t panel_bytes =
        sundog_layout_panel_bytes(planned->weight.layout, planned->weight.n_columns);
    int64_t n_left = count_panels(&planned->weight) - packing->panel;
    piece->planned = planned;
    piece->first_panel = packing->panel;
    piece->n_panels = MIN(n_left, (int64_t)MAX(PIECE_BYTES / panel_bytes, 1));
    piece->is_last = piece->n_panels == n_left;
    piece->failed = piece->is_done = false;
    piece->error = (SundogQuantizationError){0};
    piece->n_bytes = piece->n_panels == n_left
                         ? planned->weight.n_bytes - (size_t)packing->panel * panel_bytes
                         : (size_t)piece->n_panels * panel_bytes;
    packing->panel += piece->n_panels;
    if (piece->n_panels == n_left) {
        packing->weight++;
        packing->panel = 0;
    }
    if (piece->capacity < piece->n_bytes) {
        g_free(piece->bytes);
        piece->bytes = g_malloc(piece->n_bytes);
        piece->capacity = piece->n_bytes;
    }
    g_thread_pool_push(packing->workers, piece, NULL);
    return true;
}

static void
wait_for(Packing *packing, const Piece *piece)
{
    pthread_mutex_lock(&packing->lock);
    while (!piece->is_done)
        pthread_cond_wait(&packing->done, &packing->lock);
    pthread_mutex_unlock(&packing->lock);
}

static bool
packing_init(Packing *packing, const SundogPlan *plan, unsigned n_threads, GError **error)
{
    unsigned n_workers = n_threads != 0 ? n_threads : g_get_num_processors();
    *packing = (Packing){.plan = plan, .n_pieces = 2 * n_workers + 1};
    packing->workers = g_thread_pool_new(pack_piece, packing, (int)n_workers, TRUE, error);
    if (packing->workers == NULL)
        return false;
    packing->pieces = g_new0(Piece, packing->n_pieces);
    pthread_mutex_init(&packing->lock, NULL);
    pthread_cond_init(&packing->done, NULL);
    return true;
}

static void
packing_clear(Packing *packing)
{
    /* Waits for the pieces under way, which may be many after a failure. */
    g_thread_pool_free(packing->workers, FALSE, TRUE);
    for (unsigned i = 0; i < packing->n_pieces; i++)
        g_free(packing->pieces[i].bytes);
    g_free(packing->pieces);
    pthread_mutex_destroy(&packing->lock);
    pthread_cond_destroy(&packing->done);
}

/* Adds a piece's part to its weight's error, and tells it where it is whole. */
static bool
take_error(const Piece *piece, const SundogPrepareOptions *options, SundogQuantizationError *sum,
           GError **error)
{
    const SundogPlannedWeight *planned = piece->planned;
    if (planned->tensor == NULL || planned->type == planned->tensor->type)
        return true;
    if (piece->failed) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "tensor \"%s\" has values that are not finite or beyond 65,504 times the "
                    "largest quantized value, so it cannot be quantized; prepare it as it is",
                    planned->tensor->name);
        return false;
    }
    sum->difference += piece->error.difference;
    sum->norm += piece->error.norm;
    if (!piece->is_last)
        return true;
    if (options->quantized != NULL && options->weights != SUNDOG_WEIGHTS_KEEP)
        options->quantized(planned->tensor->name, sundog_gguf_type_name(planned->tensor->type),
                           sundog_gguf_type_name(planned->type),
                           sum->norm > 0 ? sqrt(sum->difference / sum->norm) : 0, options->data);
    *sum = (SundogQuantizationError){0};
    return true;
}

static bool
write_pieces(Packing *packing, SundogPackageWriter *writer, const SundogPrepareOptions *options,
             void (*progress)(double, void *), void *data, GError **error)
{
    SundogQuantizationError sum = {0};
    uint64_t n_started = 0;
    uint64_t n_written = 0;
    uint64_t n_bytes = 0;
    bool more = true;
    for (;;) {
        while (more && n_started - n_written < packing->n_pieces) {
            more = start_piece(packing, &packing->pieces[n_started % packing->n_pieces]);
            n_started += more;
        }
        if (n_written == n_started)
            return true;
        Piece *piece = &packing->pieces[n_written++ % packing->n_pieces];
        wait_for(packing, piece);
        if (g_cancellable_set_error_if_cancelled(options->cancellable, error) ||
            !take_error(piece, options, &sum, error) ||
            !sundog_package_writer_append(writer, piece->bytes, piece->n_bytes, error))
            return false;
        n_bytes += piece->n_bytes;
        progress((double)n_bytes / (double)packing->plan->weight_bytes, data);
    }
}

bool
sundog_pack_weights(const SundogPlan *plan, SundogPackageWriter *writer,
                    const SundogPrepareOptions *options, void (*progress)(double, void *),
                    void *data, GError **error)
{
    Packing packing;
    if (!packing_init(&packing, plan, options->n_threads, error))
        return false;
    bool ok = sundog_package_writer_begin(writer, SUNDOG_CORE_WEIGHTS, error) &&
              write_pieces(&packing, writer, options, progress, data, error) &&
              sundog_package_writer_end(writer, error);
    packing_clear(&packing);
    return ok;
}
