#pragma once

/*
 * The log of benchmarks, tests/benchmarks/log.tsv in the source tree: it only grows, a row a run. A
 * header line names the columns; a row whose number of columns differs is left out when read.
 */

#include "engine/command/speed.h"

#define SUNDOG_BENCHMARK_LOG "tests/benchmarks/log.tsv"

typedef struct {
    char *time;    /* RFC 3339 */
    char *machine; /* processor's name and instruction set */
    char *version; /* of the engine */
    char *core;
    unsigned n_threads;
    unsigned n_prefill;
    unsigned n_decode;
    unsigned n_repeat;
    SundogSpeed prefill;
    SundogSpeed decode;
} SundogBenchmarkRow;

void sundog_benchmark_row_free(SundogBenchmarkRow *row);
/* Appends one row in one write, making the file with its header where it is missing. */
bool sundog_benchmark_log_append(const char *path, const SundogBenchmarkRow *row, GError **error);
/* All rows in order: GPtrArray of SundogBenchmarkRow; owned by the caller. */
GPtrArray *sundog_benchmark_log_read(const char *path, GError **error);

/* For the newest row of each machine, core and setting: a line for each rate that lies below the median
 * of the earlier rows by more than their noise, which is the largest spread seen within a row or between
 * rows, and never under 3 %. Empty where there is none; owned by the caller (GPtrArray of char *). */
GPtrArray *sundog_benchmark_log_find_regressions(const GPtrArray *rows);
