#pragma once

/*
 * A trace of requests through the scheduler itself, on a machine that only passes time: what policy does
 * with a load, the same at each run, in a moment. Times are in microseconds of the simulated clock.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t arrival_us;
    uint32_t n_prompt;
    uint32_t n_answer;
} SimulatedRequest;

/* A step takes step_us, row_us for each of its rows and context_us for each 1,000 positions that a row
 * attends to. */
typedef struct {
    double step_us;
    double row_us;
    double context_us;
    uint32_t max_tokens; /* of a step */
    uint32_t max_sequences;
    uint32_t context_length;
    int32_t pool_pages;
    /* Guesses that a step may check; 0: there are none. A share `repeats` of an answer's tokens goes on
     * with what stood before, as n-grams guess. A small core, whose step takes draft_us, guesses a share
     * `agrees` of them; draft_us 0: there is none. */
    uint32_t max_drafts;
    double repeats;
    double draft_us;
    double agrees;
} SimulatedMachine;

typedef struct {
    int64_t first_p50_us; /* from arrival to the first token */
    int64_t first_p99_us;
    int64_t gap_p50_us; /* from token to token of one request */
    int64_t gap_p99_us;
    int64_t gap_max_us;
    int64_t end_us; /* of the last request */
    int64_t
        end_bound_us; /* no schedule ends sooner: all rows, and the steps of the longest answer */
    int64_t first_bound_us; /* median of requests that each had the machine alone */
    uint64_t n_steps;
    uint64_t n_drafted;
    uint64_t n_accepted;
} SimulationResult;

/* Requests in order of arrival. */
SimulationResult simulation_run(const SimulatedMachine *machine, const SimulatedRequest *requests,
                                uint32_t n_requests);
