#pragma once

/*
 * Passes over a forward program, in the order in which sundog_plan_make() calls them. Each takes a
 * program in which every temporary is written once, except after sundog_pass_fuse(), and keeps what
 * the program computes bit for bit, except sundog_pass_activations(). Within this house.
 */

#include "engine/core/launch-list.h"
#include "engine/prepare/prepare.h"
#include "engine/recipe/recipe.h"

/* Gives every weight its layout: panels of its tensor's type for matrices, or of the type that `weights`
 * wants for floats, tiles where it is for CUDA, dense rows for the rest. `tensors` maps a weight's name to
 * its SundogTensor. A type that no layout holds is refused with the tensor's name. */
bool sundog_pass_layouts(SundogProgram *program, GHashTable *tensors, SundogWeights weights,
                         bool is_for_cuda, GError **error);

/* Quantizes the input of every product with a quantized weight, once where several share it; rows that
 * are gathered for experts are quantized before. */
void sundog_pass_activations(SundogProgram *program);

/* Joins operations that the kernels carry out in one:
 *   linear ×3, join             linear_qkv
 *   linear ×2, gate             linear_gated
 *   linear, add                 linear with a residual, in place where nobody else reads it
 *   combine_experts, add        combine_experts with a residual
 *   rms_norm, quantize          norm_quantize
 *   attention, quantize         attention that writes a8; so linear_gated */
void sundog_pass_fuse(SundogProgram *program);

/* For CUDA, after fusing: what products take becomes bf16, and attention's workspace holds the parts
 * that many blocks make of one row. */
void sundog_pass_cuda(SundogProgram *program);

/* Gives every temporary its offset, largest first and workspaces last, each at the lowest place that is free while it
 * lives; sets the size of the arena. Where a launch list is given, a buffer lives as long as its
 * launches run. */
void sundog_pass_plan_memory(SundogProgram *program, const SundogLaunchList *launches);
