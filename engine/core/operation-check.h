#pragma once

/* What each operation asks of its arguments and parameters, as data, and the check against it. Within
 * this house; sundog_program_check() is what others call. */

#include "engine/core/program.h"

/* Appends a line of printf form to the faults. */
void sundog_faults_add(GString *faults, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Presence, roles, types, ranks, shapes and parameters of one operation. `scratch` is a copy of the
 * program's expressions, in which derived sizes are built, so that they compare by index. */
void sundog_operation_check(const SundogProgram *program, uint32_t index,
                            SundogExpressionPool *scratch, GString *faults);
