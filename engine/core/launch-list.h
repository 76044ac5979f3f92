#pragma once

/*
 * A program lowered for one CUDA architecture: which kernels carry out its operations, with what grid,
 * block, shared memory and parameter bytes, and how each waits for the one before it. Data alone, like
 * the program that it belongs to; replay makes graphs of it or issues it directly.
 *
 * A list has several variants, each whole, each valid for some steps. A launch stands for a run of the
 * program's operations; what only these name does not exist in memory. Launches of a variant are a chain.
 *
 * Built on one thread; immutable and shared after that.
 */

#include "engine/core/program.h"

typedef enum {
    SUNDOG_EDGE_ORDINARY = 1, /* begins when its predecessor has ended */
    SUNDOG_EDGE_PROGRAMMATIC, /* may begin before, and waits itself before it touches anything but
                                 weights: the compiled code must do so */
} SundogEdge;

/* What replay writes into the parameter bytes. */
typedef enum {
    SUNDOG_FIELD_BUFFER = 1, /* u64: the address of a buffer */
    SUNDOG_FIELD_EXPRESSION, /* i32: its value at the shape */
    SUNDOG_FIELD_RING,       /* u64: the mapped ring of tokens */
    SUNDOG_FIELD_STEP,       /* u64: the counters of the device's steps */
    SUNDOG_FIELD_TENSOR_MAP, /* 128 bytes: how a buffer is copied in boxes */
} SundogFieldKind;

#define SUNDOG_LAUNCH_MAP_BYTES 128
#define SUNDOG_LAUNCH_MAX_BOX_ROWS 256

typedef struct {
    SundogFieldKind kind;
    uint32_t at; /* in the launch's parameter bytes */
    /* Of a BUFFER, and of a TENSOR_MAP, whose buffer is bf16, read: rows as long as its last dimension. */
    SundogBufferId buffer;
    SundogAccess access;      /* READ, WRITE or UPDATE */
    SundogExpression n_bytes; /* touched, where all_bytes is false */
    bool all_bytes;           /* touched as far as the buffer's shape says */
    /* Of an EXPRESSION: what is written; of a TENSOR_MAP: the rows of a box, 1 to
     * SUNDOG_LAUNCH_MAX_BOX_ROWS. A box has 64 columns, the 16-byte pieces of its rows exchanged over
     * 128 bytes; what is past the buffer's rows at the shape, or its columns, is zero. */
    SundogExpression value;
} SundogLaunchField;

typedef struct {
    const char *module; /* member kernels/MODULE.cubin; interned */
    const char *entry;  /* interned */
    uint32_t first_operation;
    uint32_t n_operations;
    SundogExpression grid[3];
    uint32_t n_threads; /* of a block */
    uint32_t n_shared_bytes;
    SundogEdge edge; /* from the launch before it, or from the taking in of inputs */
    bool waits;      /* the kernel's code waits as SUNDOG_EDGE_PROGRAMMATIC asks */
    uint32_t n_parameter_bytes;
    uint32_t parameters;  /* where they begin among the list's */
    uint32_t first_field; /* among the list's */
    uint32_t n_fields;
} SundogLaunch;

/* Which steps a variant is for, beside their tokens. */
typedef enum {
    SUNDOG_STEPS_MIXED,   /* sequences have any number of rows */
    SUNDOG_STEPS_ONE_ROW, /* each sequence has one */
    SUNDOG_STEPS_ALIKE, /* any; all variants of this kind give a row the same bits, whatever else is in its step
                             and however its sequence was cut into steps. A list has them for all tokens or none */
    SUNDOG_N_STEPS
} SundogSteps;

typedef struct {
    int64_t min_tokens;
    int64_t max_tokens;
    SundogSteps steps;
    uint32_t first_launch;
    uint32_t n_launches;
} SundogLaunchVariant;

typedef struct {
    const char *name; /* interned */
    uint8_t sha256[32];
} SundogLaunchModule;

/* Sizes that a parameter block and a grid may have. */
#define SUNDOG_LAUNCH_MAX_PARAMETER_BYTES 1024
#define SUNDOG_LAUNCH_MAX_THREADS 1024

static inline bool
sundog_launch_field_names_buffer(const SundogLaunchField *field)
{
    return field->kind == SUNDOG_FIELD_BUFFER || field->kind == SUNDOG_FIELD_TENSOR_MAP;
}

typedef struct SundogLaunchList SundogLaunchList;

/* Copies the program's expressions, so that its indices go on to hold. */
SundogLaunchList *sundog_launch_list_new(const SundogProgram *program);
void sundog_launch_list_free(SundogLaunchList *list);

const SundogExpressionPool *sundog_launch_list_get_expressions(const SundogLaunchList *list);
SundogExpressionPool *sundog_launch_list_edit_expressions(SundogLaunchList *list);

void sundog_launch_list_add_module(SundogLaunchList *list, const char *name,
                                   const uint8_t sha256[32]);
/* Begins a variant; launches that follow belong to it. */
void sundog_launch_list_add_variant(SundogLaunchList *list, int64_t min_tokens, int64_t max_tokens,
                                    SundogSteps steps);
/* Copies the launch, its parameter bytes and its fields. */
void sundog_launch_list_add_launch(SundogLaunchList *list, const SundogLaunch *launch,
                                   const void *parameters, const SundogLaunchField *fields);

uint32_t sundog_launch_list_get_n_modules(const SundogLaunchList *list);
const SundogLaunchModule *sundog_launch_list_get_module(const SundogLaunchList *list,
                                                        uint32_t index);
uint32_t sundog_launch_list_get_n_variants(const SundogLaunchList *list);
const SundogLaunchVariant *sundog_launch_list_get_variant(const SundogLaunchList *list,
                                                          uint32_t index);
/* The variant for steps of so many tokens; NULL where there is none. */
const SundogLaunchVariant *sundog_launch_list_find_variant(const SundogLaunchList *list,
                                                           int64_t n_tokens, SundogSteps steps);
uint32_t sundog_launch_list_get_n_launches(const SundogLaunchList *list);
const SundogLaunch *sundog_launch_list_get_launch(const SundogLaunchList *list, uint32_t index);
const SundogLaunchField *sundog_launch_list_get_fields(const SundogLaunchList *list,
                                                       const SundogLaunch *launch);
const uint8_t *sundog_launch_list_get_parameters(const SundogLaunchList *list,
                                                 const SundogLaunch *launch);

/* Lifetimes of the program's buffers where launches, not operations, are what runs: a buffer lives from
 * the first operation of the first launch that names it to the last operation of the last one, over all
 * variants. What no launch names is unused. One for each buffer; owned by the caller. */
SundogLifetime *sundog_launch_list_dup_lifetimes(const SundogLaunchList *list,
                                                 const SundogProgram *program);

/* Checks the list against its program: every operation carried out once and in order, for every step;
 * nothing read before it is written, every output written; every range inside its buffer at the bounds;
 * no two buffers that live together overlapping; edges only as the code allows. Says all that is wrong. */
bool sundog_launch_list_check(const SundogLaunchList *list, const SundogProgram *program,
                              GError **error);

/* The binary form is described above the reader in launch-list-file.c. */
void sundog_launch_list_write(const SundogLaunchList *list, SundogWriter *writer);
/* NULL where the reader failed. What was read is well-formed, but not yet checked. */
SundogLaunchList *sundog_launch_list_read(SundogReader *reader);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogLaunchList, sundog_launch_list_free)
