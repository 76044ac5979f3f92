/* Bytes over time over a measured ceiling. */

#include "engine/command/share.h"

#include "engine/core/step.h"
#include "kernels/contract/paged-cache.h"

/* Places of parameters. */
enum { N_EXPERTS = 0, N_USED = 0 };

static bool
is_of_experts(SundogOperationKind kind)
{
    return kind == SUNDOG_OP_LINEAR_EXPERTS || kind == SUNDOG_OP_LINEAR_GATED_EXPERTS;
}

/* Of the experts' weights, what one token is given to; 1 where there are none. */
static double
find_used(const SundogProgram *program)
{
    double n_experts = 1, n_used = 1;
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        if (operation->kind == SUNDOG_OP_PLAN_EXPERTS)
            n_experts = (double)operation->parameters[N_EXPERTS].i;
        if (operation->kind == SUNDOG_OP_GATHER_EXPERTS)
            n_used = (double)operation->parameters[N_USED].i;
    }
    return n_experts > 0 ? MIN(n_used / n_experts, 1) : 1;
}

/* What an operation of one row reads of a weight: of a table a row, of experts those used. */
static double
count_weight(const SundogCoreWeight *weight, SundogOperationKind kind, double used)
{
    if (kind == SUNDOG_OP_EMBED)
        return (double)weight->n_bytes / (double)MAX(weight->n_rows, 1);
    return (double)weight->n_bytes * (is_of_experts(kind) ? used : 1);
}

static double
count_weights(const SundogCore *core, const SundogProgram *program)
{
    double used = find_used(program), n_bytes = 0;
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        for (int a = 0; a < SUNDOG_MAX_ARGUMENTS; a++) {
            SundogBufferId id = operation->arguments[a];
            if (id == SUNDOG_BUFFER_NONE || id >= sundog_program_get_n_buffers(program))
                continue;
            const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
            if (buffer->role == SUNDOG_BUFFER_WEIGHT)
                n_bytes += count_weight(sundog_core_find_weight(core, buffer->name),
                                        operation->kind, used);
        }
    }
    return n_bytes;
}

static uint32_t
count_launches(const SundogCore *core)
{
    const SundogLaunchVariant *variant = sundog_launch_list_find_variant(
        sundog_core_get_launch_list(core, SUNDOG_PROGRAM_FORWARD), 1, SUNDOG_STEPS_ONE_ROW);
    return variant != NULL ? variant->n_launches + 1 : 0;
}

bool
sundog_share_find(const SundogCore *core, uint32_t n_decode, double tokens_per_second,
                  SundogShare *share, GError **error)
{
    const SundogCoreCache *cache = sundog_core_get_cache(core);
    const SundogProgram *forward = sundog_core_get_program(core, SUNDOG_PROGRAM_FORWARD);
    double n_pages = (double)n_decode / 2 / SUNDOG_PAGE_TOKENS;
    *share = (SundogShare){.n_launches = count_launches(core)};
    double n_bytes = count_weights(core, forward) + (double)cache->state_bytes +
                     n_pages * (double)(cache->page_bytes + cache->window_bytes);
    share->decode_bytes = (uint64_t)n_bytes;
    if (!sundog_cuda_ceilings_measure(&share->ceilings, error))
        return false;
    share->decode_share = n_bytes * tokens_per_second / share->ceilings.read_bytes_per_second;
    return true;
}
