/* route: experts.h. */

#include "kernels/contract/experts.h"
#include "kernels/contract/sigmoid-mul.h"
#include "kernels/host/kernel.h"
#include "kernels/host/select.h"

enum { SIGMOID, N_GROUPS, N_GROUPS_USED, GROUP_BEST, RENORMALIZE, SCALE, MARGIN };

/* One thread's view of the call; its workspace holds a token's experts. */
typedef struct {
    const SundogParameter *parameters;
    const float *bias;   /* [n_experts] or NULL */
    const float *scales; /* the same */
    uint64_t *keys;      /* [n_experts] by score and index, all different; 0 is out of the choice */
    float *probabilities; /* [n_experts] */
    int64_t n_experts;
    int64_t n_used;
} Route;

static void
compute_softmax(const float *logits, int64_t n, float *probabilities)
{
    float greatest = logits[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        greatest = logits[i] > greatest ? logits[i] : greatest;
    for (int64_t i = 0; i < n; i++)
        probabilities[i] = sundog_exp(logits[i] - greatest);
    for (int64_t i = 0; i < n; i++)
        sum += probabilities[i];
    for (int64_t i = 0; i < n; i++)
        probabilities[i] /= sum;
}

static void
score_experts(const Route *route, const float *logits)
{
    if (route->parameters[MARGIN].f > 0)
        memcpy(route->probabilities, logits, (size_t)route->n_experts * sizeof(float));
    else if (route->parameters[SIGMOID].i != 0)
        for (int64_t i = 0; i < route->n_experts; i++)
            route->probabilities[i] = sundog_sigmoid(logits[i]);
    else
        compute_softmax(logits, route->n_experts, route->probabilities);
    for (int64_t i = 0; i < route->n_experts; i++) {
        float score = route->probabilities[i];
        if (route->bias != NULL)
            score += route->bias[i];
        route->keys[i] = sundog_score_key(score, i);
    }
}

/* The greatest key below `limit`, 0 where there is none. */
static uint64_t
find_best_below(const uint64_t *keys, int64_t n, uint64_t limit)
{
    uint64_t best = 0;
    for (int64_t i = 0; i < n; i++)
        best = keys[i] < limit && keys[i] > best ? keys[i] : best;
    return best;
}

static uint64_t
score_group(const Route *route, int64_t group)
{
    int64_t size = route->n_experts / route->parameters[N_GROUPS].i;
    uint64_t key = UINT64_MAX;
    float sum = 0;
    for (int64_t n = 0; n < route->parameters[GROUP_BEST].i && key != 0; n++) {
        key = find_best_below(route->keys + group * size, size, key);
        if (key == 0)
            break;
        int64_t expert = sundog_key_index(key);
        float score = route->probabilities[expert];
        sum += route->bias != NULL ? score + route->bias[expert] : score;
    }
    return sundog_score_key(sum, group);
}

/* Takes all but the best groups out of the choice. A group's key is computed anew for each that it is
 * compared with, since there is no room to keep them and groups are few. */
static void
choose_groups(const Route *route)
{
    int64_t n_groups = route->parameters[N_GROUPS].i;
    int64_t size = route->n_experts / n_groups;
    uint64_t cut = UINT64_MAX;
    for (int64_t n = 0; n < route->parameters[N_GROUPS_USED].i; n++) {
        uint64_t best = 0;
        for (int64_t group = 0; group < n_groups; group++) {
            uint64_t key = score_group(route, group);
            best = key < cut && key > best ? key : best;
        }
        cut = best;
    }
    for (int64_t group = 0; group < n_groups; group++)
        if (score_group(route, group) < cut)
            memset(route->keys + group * size, 0, (size_t)size * sizeof(uint64_t));
}

/* Of the expert of that key among those that are left to choose from: its softmax over the near ones. */
static float
weigh_by_margin(const Route *route, uint64_t key)
{
    float own = route->probabilities[sundog_key_index(key)], sum = 0;
    float margin = (float)route->parameters[MARGIN].f;
    for (int64_t i = 0; i < route->n_experts; i++) {
        float other = route->probabilities[i];
        float size = other < 0 ? -other : other;
        if (route->keys[i] != 0 && route->keys[i] <= key &&
            own - other <= margin * (size > own ? size : own))
            sum += sundog_exp(other - own);
    }
    return 1 / sum;
}

static void
choose_experts(const Route *route, int32_t *choices, float *weights)
{
    uint64_t key = UINT64_MAX;
    float sum = 0;
    for (int64_t u = 0; u < route->n_used; u++) {
        key = find_best_below(route->keys, route->n_experts, key);
        choices[u] = (int32_t)sundog_key_index(key);
        weights[u] = route->parameters[MARGIN].f > 0 ? weigh_by_margin(route, key)
                                                     : route->probabilities[choices[u]];
        sum += weights[u];
    }
    for (int64_t u = 0; u < route->n_used; u++) {
        if (route->parameters[RENORMALIZE].i != 0)
            weights[u] /= sum;
        weights[u] *= (float)route->parameters[SCALE].f;
        if (route->scales != NULL)
            weights[u] *= route->scales[choices[u]];
    }
}

void
SUNDOG_KERNEL(ROUTE)(const SundogCall *call)
{
    const SundogArgument *a = call->arguments;
    int64_t n_experts = a[0].shape[1], n_used = a[2].shape[1];
    uint8_t *own = (uint8_t *)a[4].data + call->thread * sundog_route_workspace_bytes(n_experts);
    Route route = {.parameters = call->parameters,
                   .bias = a[1].data,
                   .scales = a[5].data,
                   .keys = (uint64_t *)own,
                   .probabilities = (float *)(own + n_experts * (int64_t)sizeof(uint64_t)),
                   .n_experts = n_experts,
                   .n_used = n_used};
    SundogRange tokens = sundog_split(call, a[0].shape[0]);
    for (int64_t t = tokens.begin; t < tokens.end; t++) {
        score_experts(&route, (const float *)a[0].data + t * n_experts);
        if (call->parameters[N_GROUPS_USED].i < call->parameters[N_GROUPS].i)
            choose_groups(&route);
        choose_experts(&route, (int32_t *)a[2].data + t * n_used, (float *)a[3].data + t * n_used);
    }
}
