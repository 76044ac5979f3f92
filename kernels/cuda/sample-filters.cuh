#pragma once

/* What leaves tokens out of the draw. Each takes the sum of the weights and gives what is left of it; all
 * threads of the block call them. */

#include "kernels/cuda/sample-row.cuh"

INLINE void
keep_within_sigma(const Row &row, Kept &kept, Room &room)
{
    Sum n_finite = 0;
    visit_tokens(row, [&](int, float logit) { n_finite += logit != -INFINITY; });
    double n = (double)row_total(row, n_finite, room);
    double total = sum_lanes(
        row, room, [](int, float logit) { return logit != -INFINITY ? (double)logit : 0; });
    double mean = total / n;
    double squares = sum_lanes(row, room, [&](int, float logit) {
        double distance = logit != -INFINITY ? (double)logit - mean : 0;
        return distance * distance;
    });
    double deviation = sqrt(squares / n);
    change(
        [&] { kept.least_logit = (double)row.best - (double)row.by->o->top_n_sigma * deviation; });
}

INLINE Sum
keep_typical(const Row &row, Kept &kept, Sum sum, Room &room)
{
    double reach = (double)row.by->o->typical_p * (double)sum;
    if (!(reach > 0 && reach < (double)sum))
        return sum;
    double total = sum_lanes(row, room, [&](int i, float logit) {
        int64_t weight = find_weight(row, kept, i, logit);
        return weight > 0 ? (double)weight * (double)find_scaled(row, logit) : 0;
    });
    double mean = total / (double)sum;
    uint64_t cut = find_cut(
        row, Span{0, ~0ull, reach > 1 ? (Sum)ceil(reach) : 1},
        [&](int i, float logit) { return make_typical_key(row, mean, logit, i); },
        [&](int i, float logit) { return (Sum)find_weight(row, kept, i, logit); }, room);
    change([&] {
        kept.mean = mean;
        kept.typical_cut = cut;
    });
    return total_weight(row, kept, room);
}

/* Only typical takes the best token away, whose weight is one. */
INLINE int64_t
find_greatest_weight(const Row &row, const Kept &kept, Room &room)
{
    Sum greatest = 0;
    if (kept.typical_cut == 0)
        return (int64_t)SUNDOG_WEIGHT_ONE;
    visit_tokens(row, [&](int i, float logit) {
        greatest = max(greatest, (Sum)find_weight(row, kept, i, logit));
    });
    return (int64_t)~row_least(row, ~greatest, room);
}

/* Tokens whose weights all together cannot make up what is left out need not be looked at. */
INLINE uint64_t
find_top_p(const Row &row, const Kept &kept, Sum sum, Sum wanted, Room &room)
{
    Sum bound = (sum - wanted) / (Sum)row.n;
    auto weigh = [&](int i, float logit) {
        Sum weight = (Sum)find_weight(row, kept, i, logit);
        return weight > bound ? weight : 0;
    };
    return find_cut(
        row, Span{0, ~0ull, wanted}, [](int i, float logit) { return sundog_score_key(logit, i); },
        weigh, room);
}

INLINE Sum
keep_top_p_and_min_p(const Row &row, Kept &kept, Sum sum, Room &room)
{
    double reach = (double)row.by->o->top_p * (double)sum;
    uint64_t cut = kept.cut;
    int64_t least = 0;
    if (row.by->o->min_p > 0)
        least =
            (int64_t)ceil((double)row.by->o->min_p * (double)find_greatest_weight(row, kept, room));
    if (reach < (double)sum)
        cut = find_top_p(row, kept, sum, reach > 1 ? (Sum)ceil(reach) : 1, room);
    if (cut == kept.cut && least <= 0)
        return sum;
    change([&] {
        kept.cut = max((Sum)cut, (Sum)kept.cut);
        kept.least = least;
    });
    return total_weight(row, kept, room);
}

INLINE Sum
leave_top_out(const Row &row, Kept &kept, Sum sum, Room &room)
{
    const SundogSampling *o = row.by->o;
    uint64_t worst = ~0ull;
    if (!(o->xtc_probability > 0 && o->xtc_threshold <= 0.5f) ||
        sundog_sample_uniform(o->seed, o->position + SUNDOG_XTC_COUNTER) >=
            (double)o->xtc_probability)
        return sum;
    double least = (double)o->xtc_threshold * (double)sum;
    visit_tokens(row, [&](int i, float logit) {
        int64_t weight = find_weight(row, kept, i, logit);
        if (weight > 0 && (double)weight >= least)
            worst = min((Sum)worst, (Sum)sundog_score_key(logit, i));
    });
    worst = row_least(row, worst, room);
    change([&] {
        kept.worst = worst;
        kept.rival = (int64_t)ceil(least);
    });
    return total_weight(row, kept, room);
}

/* The sum of the weights that are left. */
INLINE Sum
filter(const Row &row, Kept &kept, Room &room)
{
    if (row.by->o->top_n_sigma > 0)
        keep_within_sigma(row, kept, room);
    uint64_t cut = find_top_k(row, row.by->o->top_k, room);
    change([&] { kept.cut = cut; });
    Sum sum = keep_typical(row, kept, total_weight(row, kept, room), room);
    sum = keep_top_p_and_min_p(row, kept, sum, room);
    return leave_top_out(row, kept, sum, room);
}
