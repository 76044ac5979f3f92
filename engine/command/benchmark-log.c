/* The log of benchmarks. */

#include "engine/command/benchmark-log.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER                                                                         \
    "time\tmachine\tversion\tcore\tthreads\tprefill\tdecode\trepeat\tprefill_median\t" \
    "prefill_lowest\tprefill_highest\tdecode_median\tdecode_lowest\tdecode_highest\n"
#define N_COLUMNS 14
#define LEAST_NOISE 0.03

void
sundog_benchmark_row_free(SundogBenchmarkRow *row)
{
    g_free(row->time);
    g_free(row->machine);
    g_free(row->version);
    g_free(row->core);
    g_free(row);
}

static char *
dup_line(const SundogBenchmarkRow *row)
{
    return g_strdup_printf("%s\t%s\t%s\t%s\t%u\t%u\t%u\t%u\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n",
                           row->time, row->machine, row->version, row->core, row->n_threads,
                           row->n_prefill, row->n_decode, row->n_repeat, row->prefill.median,
                           row->prefill.lowest, row->prefill.highest, row->decode.median,
                           row->decode.lowest, row->decode.highest);
}

bool
sundog_benchmark_log_append(const char *path, const SundogBenchmarkRow *row, GError **error)
{
    g_autofree char *line = dup_line(row);
    bool is_new = !g_file_test(path, G_FILE_TEST_EXISTS);
    g_autofree char *text = g_strconcat(is_new ? HEADER : "", line, NULL);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    int reason = errno;
    if (fd >= 0)
        close(fd);
    if (!good)
        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(reason),
                    "%s cannot be written: %s. Run this in the source tree, or give --log FILE.",
                    path, g_strerror(reason));
    return good;
}

static SundogBenchmarkRow *
parse_row(const char *line)
{
    g_auto(GStrv) cells = g_strsplit(line, "\t", -1);
    if (g_strv_length(cells) != N_COLUMNS || strcmp(cells[0], "time") == 0)
        return NULL;
    SundogBenchmarkRow *row = g_new0(SundogBenchmarkRow, 1);
    row->time = g_strdup(cells[0]);
    row->machine = g_strdup(cells[1]);
    row->version = g_strdup(cells[2]);
    row->core = g_strdup(cells[3]);
    unsigned *counts[] = {&row->n_threads, &row->n_prefill, &row->n_decode, &row->n_repeat};
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++)
        *counts[i] = (unsigned)strtoul(cells[4 + i], NULL, 10);
    double *rates[] = {&row->prefill.median, &row->prefill.lowest, &row->prefill.highest,
                       &row->decode.median,  &row->decode.lowest,  &row->decode.highest};
    for (size_t i = 0; i < G_N_ELEMENTS(rates); i++)
        *rates[i] = g_ascii_strtod(cells[8 + i], NULL);
    return row;
}

GPtrArray *
sundog_benchmark_log_read(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, error))
        return NULL;
    GPtrArray *rows = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_benchmark_row_free);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        SundogBenchmarkRow *row = parse_row(*line);
        if (row != NULL)
            g_ptr_array_add(rows, row);
    }
    return rows;
}

static bool
same_setting(const SundogBenchmarkRow *a, const SundogBenchmarkRow *b)
{
    return strcmp(a->machine, b->machine) == 0 && strcmp(a->core, b->core) == 0 &&
           a->n_threads == b->n_threads && a->n_prefill == b->n_prefill &&
           a->n_decode == b->n_decode;
}

static int
compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static const SundogSpeed *
get_rate(const SundogBenchmarkRow *row, bool prefill)
{
    return prefill ? &row->prefill : &row->decode;
}

/* One rate of the row at `newest` against the rows before it. */
static void
look_at(const GPtrArray *rows, guint newest, bool prefill, GPtrArray *found)
{
    const SundogBenchmarkRow *row = rows->pdata[newest];
    g_autoptr(GArray) medians = g_array_new(FALSE, FALSE, sizeof(double));
    double noise = LEAST_NOISE;
    for (guint i = 0; i < newest; i++) {
        const SundogSpeed *rate = get_rate(rows->pdata[i], prefill);
        if (!same_setting(rows->pdata[i], row) || rate->median <= 0)
            continue;
        g_array_append_val(medians, rate->median);
        noise = MAX(noise, (rate->highest - rate->lowest) / rate->median / 2);
    }
    const SundogSpeed *now = get_rate(row, prefill);
    if (medians->len == 0)
        return;
    double *values = (double *)(void *)medians->data;
    qsort(values, medians->len, sizeof(double), compare_doubles);
    double usual = values[medians->len / 2];
    noise = MAX(noise, (values[medians->len - 1] - values[0]) / usual / 2);
    if (now->median < usual * (1 - noise))
        g_ptr_array_add(
            found,
            g_strdup_printf("%s, %u threads, %s: %.1f tokens/s, %.0f %% below the usual %.1f "
                            "(noise %.0f %%, %u earlier runs)",
                            row->core, row->n_threads, prefill ? "prefill" : "decode", now->median,
                            (1 - now->median / usual) * 100, usual, noise * 100, medians->len));
}

GPtrArray *
sundog_benchmark_log_find_regressions(const GPtrArray *rows)
{
    GPtrArray *found = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < rows->len; i++) {
        bool newest = true;
        for (guint j = i + 1; j < rows->len; j++)
            newest = newest && !same_setting(rows->pdata[i], rows->pdata[j]);
        if (newest) {
            look_at(rows, i, true, found);
            look_at(rows, i, false, found);
        }
    }
    return found;
}
