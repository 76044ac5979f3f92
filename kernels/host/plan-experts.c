/* plan_experts: experts.h. */

#include "kernels/contract/experts.h"
#include "kernels/host/kernel.h"

#include <string.h>

typedef struct {
    const int32_t *choices; /* [n_choices] */
    int64_t n_choices;
    int32_t *work; /* [n_entries, SUNDOG_WORK_FIELDS] */
    int64_t n_entries;
    int32_t *next; /* [n_experts] how many choices, then the place of the next */
    int64_t n_experts;
} Plan;

static bool
is_expert(const Plan *plan, int32_t choice)
{
    return choice >= 0 && choice < plan->n_experts;
}

static void
clear_list(const Plan *plan)
{
    for (int64_t i = 0; i < plan->n_entries; i++) {
        int32_t *entry = plan->work + i * SUNDOG_WORK_FIELDS;
        entry[SUNDOG_WORK_EXPERT] = entry[SUNDOG_WORK_ROWS] = 0;
        memset(entry + SUNDOG_WORK_CHOICES, 0xff, SUNDOG_TILE_TOKENS * sizeof(*entry));
    }
}

/* Gives each expert its tiles; `next` becomes its first row, six a tile. */
static void
place_experts(const Plan *plan)
{
    int32_t tile = 0;
    memset(plan->next, 0, (size_t)plan->n_experts * sizeof(*plan->next));
    for (int64_t i = 0; i < plan->n_choices; i++)
        if (is_expert(plan, plan->choices[i]))
            plan->next[plan->choices[i]]++;
    for (int64_t expert = 0; expert < plan->n_experts; expert++) {
        int32_t n_left = plan->next[expert];
        plan->next[expert] = tile * SUNDOG_TILE_TOKENS;
        for (; n_left > 0; n_left -= SUNDOG_TILE_TOKENS, tile++) {
            int32_t *entry = plan->work + (int64_t)tile * SUNDOG_WORK_FIELDS;
            entry[SUNDOG_WORK_EXPERT] = (int32_t)expert;
            entry[SUNDOG_WORK_ROWS] = (int32_t)sundog_min(n_left, SUNDOG_TILE_TOKENS);
        }
    }
}

void
SUNDOG_KERNEL(PLAN_EXPERTS)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    const Plan plan = {.choices = a[0].data,
                       .n_choices = a[0].shape[0] * a[0].shape[1],
                       .work = a[1].data,
                       .n_entries = a[1].shape[0],
                       .next = a[2].data,
                       .n_experts = call->parameters[0].i};
    if (call->thread != 0)
        return;
    clear_list(&plan);
    place_experts(&plan);
    for (int64_t i = 0; i < plan.n_choices; i++) {
        if (!is_expert(&plan, plan.choices[i]))
            continue;
        int32_t row = plan.next[plan.choices[i]]++;
        plan.work[row / SUNDOG_TILE_TOKENS * SUNDOG_WORK_FIELDS + SUNDOG_WORK_CHOICES +
                  row % SUNDOG_TILE_TOKENS] = (int32_t)i;
    }
}
