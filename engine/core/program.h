#pragma once

/*
 * A program: a flat list of operations on named buffers for one kind of step. Data alone: no code, no
 * pointers, nothing of one device. Recipes build it, prepare transforms and plans it, replay runs it.
 *
 * Built on one thread; immutable and shared after that.
 */

#include "engine/core/expression.h"
#include "kernels/contract/operations.h"
#include "kernels/contract/paged-cache.h"

typedef enum {
    SUNDOG_BUFFER_INPUT = 1, /* filled by the caller before each step; see step.h */
    SUNDOG_BUFFER_OUTPUT,    /* read by the caller after the step */
    SUNDOG_BUFFER_WEIGHT,    /* one of the core's weights, by name */
    SUNDOG_BUFFER_STATE,     /* lives from step to step: the pools of a cache scheme */
    SUNDOG_BUFFER_TEMPORARY, /* lies in the arena at an offset that prepare plans */
} SundogBufferRole;

typedef uint32_t SundogBufferId;
#define SUNDOG_BUFFER_NONE UINT32_MAX
#define SUNDOG_BUFFER_ALIGNMENT 64 /* of a temporary's offset, in bytes */
#define SUNDOG_PROGRAM_MAX_BUFFERS 65536
#define SUNDOG_PROGRAM_MAX_OPERATIONS 65536
/* No single buffer is larger at the bounds: sums of sizes then never overflow. */
#define SUNDOG_BUFFER_MAX_BYTES ((uint64_t)1 << 46)

typedef struct {
    const char *name; /* unique within the program; interned */
    SundogBufferRole role;
    SundogDtype dtype;
    SundogLayout layout; /* of a WEIGHT once prepare has laid it out, else 0 */
    uint32_t rank;
    SundogExpression shape[4];
    uint64_t offset; /* of a TEMPORARY in the arena, once planned */
} SundogBuffer;

typedef struct {
    SundogOperationKind kind;
    SundogBufferId arguments[SUNDOG_MAX_ARGUMENTS]; /* SUNDOG_BUFFER_NONE: absent or past the end */
    SundogParameter parameters[SUNDOG_MAX_PARAMETERS];
} SundogOperation;

/* What a step must look like for this program. */
typedef struct {
    uint32_t max_rows_per_sequence; /* 0 is any */
    bool starts_empty;              /* a sequence may begin without state */
    bool commits_state;
} SundogProgramUse;

typedef struct SundogProgram SundogProgram;

SundogProgram *sundog_program_new(const char *name);
void sundog_program_free(SundogProgram *program);

const char *sundog_program_get_name(const SundogProgram *program);
void sundog_program_set_name(SundogProgram *program, const char *name);
const SundogProgramUse *sundog_program_get_use(const SundogProgram *program);
void sundog_program_set_use(SundogProgram *program, const SundogProgramUse *use);
const SundogExpressionPool *sundog_program_get_expressions(const SundogProgram *program);
/* The same pool, to add to. */
SundogExpressionPool *sundog_program_edit_expressions(SundogProgram *program);
/* Puts another pool in place of the one made by new; before any buffer is added. Takes it. */
void sundog_program_take_expressions(SundogProgram *program, SundogExpressionPool *pool);
/* Upper bounds of all variables; 1 where none was set. */
const SundogShape *sundog_program_get_bounds(const SundogProgram *program);
void sundog_program_set_bounds(SundogProgram *program, const SundogShape *bounds);

/* Adds a buffer; the name is copied and must be new. */
SundogBufferId sundog_program_add_buffer(SundogProgram *program, const SundogBuffer *buffer);
/* Appends an operation. Arguments and parameters in the order of the operation's table. */
void sundog_program_add_operation(SundogProgram *program, const SundogOperation *operation);

uint32_t sundog_program_get_n_buffers(const SundogProgram *program);
const SundogBuffer *sundog_program_get_buffer(const SundogProgram *program, SundogBufferId id);
void sundog_program_set_buffer_offset(SundogProgram *program, SundogBufferId id, uint64_t offset);
void sundog_program_set_buffer_dtype(SundogProgram *program, SundogBufferId id, SundogDtype dtype);
void sundog_program_set_buffer_dimension(SundogProgram *program, SundogBufferId id,
                                         uint32_t dimension, SundogExpression size);
void sundog_program_set_buffer_layout(SundogProgram *program, SundogBufferId id,
                                      SundogLayout layout);
/* Removes the temporaries and weights that no operation names; ids change. */
void sundog_program_drop_unused_buffers(SundogProgram *program);
/* SUNDOG_BUFFER_NONE where there is none of that name. */
SundogBufferId sundog_program_find_buffer(const SundogProgram *program, const char *name);
uint32_t sundog_program_get_n_operations(const SundogProgram *program);
const SundogOperation *sundog_program_get_operation(const SundogProgram *program, uint32_t index);
/* Replaces the whole list; used by passes, which build the new one beside. */
void sundog_program_set_operations(SundogProgram *program, const SundogOperation *operations,
                                   uint32_t n_operations);

/* Where each temporary lives: the first and the last operation that names it. */
typedef struct {
    uint32_t first;
    uint32_t last;
    bool is_used;
} SundogLifetime;

/* One for each buffer; owned by the caller. */
SundogLifetime *sundog_program_dup_lifetimes(const SundogProgram *program);

/* How many pieces of state of a kind there are, the null one included. */
SundogVariable sundog_state_kind_get_variable(SundogStateKind kind);
/* Bytes of state in all buffers of the program together, by kind: of one page or one slot. */
void sundog_program_measure_state(const SundogProgram *program,
                                  uint64_t n_bytes[SUNDOG_N_STATE_KINDS]);
/* Elements at a shape, and bytes: a8 buffers count whole tiles, weights their layout's bytes (0 while
 * not laid out). Saturate. */
int64_t sundog_program_buffer_elements(const SundogProgram *program, SundogBufferId id,
                                       const SundogShape *shape);
uint64_t sundog_program_buffer_bytes(const SundogProgram *program, SundogBufferId id,
                                     const SundogShape *shape);
/* The kind of a buffer of state. */
SundogStateKind sundog_program_get_state_kind(const SundogProgram *program, SundogBufferId id);
/* 0: not planned yet. */
uint64_t sundog_program_get_arena_bytes(const SundogProgram *program);
void sundog_program_set_arena_bytes(SundogProgram *program, uint64_t n_bytes);
/* Bytes of the planned arena that steps up to a shape touch: offsets are those of the bounds, but what
 * lies at the end shrinks, above all the threads' workspaces. */
uint64_t sundog_program_measure_arena(const SundogProgram *program, const SundogShape *shape);

/* Checks everything that can be known before running: arguments against the table, types and shapes
 * against each contract, dataflow (nothing read before it is written, every output written), the
 * arena once it is planned (no two live buffers overlap, all inside) and sizes at the variables'
 * bounds. Says all that is wrong at once, a line each. An input may be updated in place, as sampling
 * does with the logits. */
bool sundog_program_check(const SundogProgram *program, GError **error);

/* True where an operation takes that argument as a weight in panels, not as a dense row. */
bool sundog_operation_takes_matrix(SundogOperationKind kind, uint32_t argument);
/* True where the layout holds integers, so that it goes with quantized activations. */
bool sundog_layout_is_quantized(SundogLayout layout);

/* For people: a table of operations and buffers, or a Graphviz graph; owned by the caller. */
char *sundog_program_print(const SundogProgram *program);
char *sundog_program_print_dot(const SundogProgram *program);

/* The binary form is described above the reader in program-file.c. */
void sundog_program_write(const SundogProgram *program, SundogWriter *writer);
/* NULL where the reader failed. What was read is well-formed, but not yet checked. */
SundogProgram *sundog_program_read(SundogReader *reader);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogProgram, sundog_program_free)
