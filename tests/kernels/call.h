#pragma once

/*
 * One operation with its arguments, run by any set of host kernels with any number of threads. Each
 * buffer is allocated for itself, so that the address sanitizer sees every step outside.
 *
 * init, add arguments in order, then run and compare as often as wanted, clear.
 */

#include "kernels/host/kernels.h"
#include "tests/kernels/random.h"

typedef struct {
    SundogOperationKind kind;
    uint32_t n_arguments;
    SundogArgument arguments[SUNDOG_MAX_ARGUMENTS];
    SundogParameter parameters[SUNDOG_MAX_PARAMETERS];
    size_t n_bytes[SUNDOG_MAX_ARGUMENTS];
    void *initial[SUNDOG_MAX_ARGUMENTS];  /* contents before every run */
    void *expected[SUNDOG_MAX_ARGUMENTS]; /* what the plain kernel made of them */
} TestCall;

void test_call_init(TestCall *call, SundogOperationKind kind);
void test_call_clear(TestCall *call);

/* Appends an argument; its memory is returned for filling. */
void *test_call_add(TestCall *call, SundogDtype dtype, int64_t rows, int64_t columns);
void *test_call_add_4d(TestCall *call, SundogDtype dtype, const int64_t shape[4]);
/* A matrix of random weights; values are about 1 in magnitude. */
void test_call_add_weight(TestCall *call, SundogLayout layout, int64_t n_rows, int64_t n_columns,
                          TestRandom *random);
/* Random floats, or an absent argument. */
void test_call_add_floats(TestCall *call, int64_t rows, int64_t columns, TestRandom *random);
void test_call_add_absent(TestCall *call);
/* Activations quantized from random floats by the plain kernel: [ceil_div(n_tokens, 6), n_columns]. */
void test_call_add_a8(TestCall *call, int64_t n_tokens, int64_t n_columns, TestRandom *random);
/* Makes argument `to` the same memory as `from`: results in place. */
void test_call_alias(TestCall *call, uint32_t to, uint32_t from);

/* Runs with poisoned outputs and workspaces; threads take their turns one after the other, the last
 * one first where `backwards`. */
void test_call_run(TestCall *call, SundogHostSet set, uint32_t n_threads, bool backwards);
/* Runs the plain kernel and keeps what it wrote, then every set that this processor runs, with several
 * numbers of threads: all bytes must be equal. */
void test_call_check_all_sets(TestCall *call);

/* ||a - b|| / ||b|| */
double test_relative_error(const float *a, const double *b, int64_t n);
