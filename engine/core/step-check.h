#pragma once

/* Whether a core's programs have the inputs and outputs that the token engine fills and reads: what
 * step.h says. Within this house. */

#include "engine/core/program.h"

bool sundog_step_check_forward(const SundogProgram *program, uint32_t n_vocabulary, GError **error);
/* What guesses behind the forward program; hidden_size is that program's. */
bool sundog_step_check_draft(const SundogProgram *program, const SundogProgram *forward,
                             uint32_t n_vocabulary, GError **error);
/* Of a core that answers with vectors or scores. */
bool sundog_step_check_result(const SundogProgram *program, uint32_t n_outputs, GError **error);
bool sundog_step_check_sample(const SundogProgram *program, uint32_t n_vocabulary, GError **error);
