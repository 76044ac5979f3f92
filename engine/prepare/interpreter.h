#pragma once

/*
 * Runs one of a core's programs operation by operation on the calling thread, each buffer in memory of
 * its own, so that every input and result can be looked at. For verify and tests; replay is what runs
 * cores for use, and verify compares the two.
 */

#include "engine/core/core.h"
#include "kernels/host/kernels.h"

typedef struct SundogInterpreter SundogInterpreter;

/* Borrows the core. Buffers are as large as `bounds` asks, which must lie within the program's;
 * bounds->values[SUNDOG_VARIABLE_UNITS] is into how many shares each operation is cut. */
SundogInterpreter *sundog_interpreter_new(const SundogCore *core, const char *program,
                                          const SundogShape *bounds, GError **error);
void sundog_interpreter_free(SundogInterpreter *interpreter);

const SundogProgram *sundog_interpreter_get_program(const SundogInterpreter *interpreter);
/* NULL where the program has no buffer of that name, or it is a weight. */
void *sundog_interpreter_get_buffer(SundogInterpreter *interpreter, const char *name);
/* A buffer's memory by id. */
void *sundog_interpreter_get_data(SundogInterpreter *interpreter, SundogBufferId id);

/* One operation at a shape, with the kernels of a set. */
void sundog_interpreter_run_operation(SundogInterpreter *interpreter, uint32_t index,
                                      const SundogShape *shape, SundogHostSet set);
void sundog_interpreter_run(SundogInterpreter *interpreter, const SundogShape *shape,
                            SundogHostSet set);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogInterpreter, sundog_interpreter_free)
