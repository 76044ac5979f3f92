#pragma once

/*
 * What a core will be, before a byte of it is written: programs after all passes, weights with their
 * places, sizes. Made from the model's header alone. Within this house; one thread.
 */

#include "engine/prepare/prepare.h"
#include "engine/recipe/recipe.h"

/* One weight of the core and where its values come from: a tensor of the model or a constant of the
 * recipe. */
typedef struct {
    SundogCoreWeight weight; /* its name is borrowed from its program */
    const SundogTensor *tensor;
    uint32_t
        type; /* that is packed: the tensor's own, or one that it is quantized or converted to */
    const SundogRecipeConstant *constant;
} SundogPlannedWeight;

typedef struct {
    SundogRecipeForward forward; /* the program that the engine runs, fused */
    SundogRecipeForward draft;   /* what guesses behind it; without a program where nothing does */
    SundogProgram *reference;    /* the recipe's own */
    SundogProgram *sample;       /* NULL where the core is not for text */
    SundogLaunchList *forward_launches; /* for CUDA, else NULL */
    SundogLaunchList *sample_launches;
    const char *target;
    GArray *weights; /* of SundogPlannedWeight, in order of use */
    SundogShape bounds;
    SundogCoreCache cache;
    SundogPurpose purpose;
    bool drafts; /* it has a draft program */
    uint32_t context_length;
    uint64_t arena_bytes;
    uint64_t weight_bytes;
} SundogPlan;

/* Fills the plan; clear it afterwards, also on failure. Everything that cannot be prepared is refused
 * here, by its name. */
bool sundog_plan_make(SundogPlan *plan, const SundogModel *model,
                      const SundogPrepareOptions *options, GError **error);
void sundog_plan_clear(SundogPlan *plan);

/* What sundog_core_measure_arena() will say of the core. */
uint64_t sundog_plan_measure_arena(const SundogPlan *plan, unsigned n_threads);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SundogPlan, sundog_plan_clear)
