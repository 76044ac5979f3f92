#pragma once

/* One job, and the two ways to carry one out. Private to jobs.c, job-pull.c and job-child.c. */

#include "engine/library/pull.h"
#include "engine/server/jobs.h"

typedef enum {
    SUNDOG_JOB_QUEUED,
    SUNDOG_JOB_RUNNING,
    SUNDOG_JOB_WAITING,
    SUNDOG_JOB_PAUSED,
    SUNDOG_JOB_DONE,
    SUNDOG_JOB_FAILED,
    SUNDOG_JOB_CANCELLED,
} SundogJobState;

/* X(NAME, "kind", option of the child for its core or model, runs as a child) */
#define SUNDOG_JOB_KINDS(X)              \
    X(FIT, "fit", "core", true)          \
    X(PREPARE, "prepare", "model", true) \
    X(PULL, "pull", "source", false)     \
    X(VERIFY, "verify", "core", true)

typedef enum {
#define X(name, text, key, is_child) SUNDOG_JOB_##name,
    SUNDOG_JOB_KINDS(X)
#undef X
} SundogJobKind;

typedef struct {
    int n_references;
    SundogJobs *jobs; /* NULL once these are gone */
    const SundogJobsOptions *options;
    char *id;
    SundogJobKind kind;
    char *subject; /* source, model or core */
    char *from;
    char *name; /* wanted name of the result, or NULL */
    char *activations;
    char *weights; /* what to quantize to, or NULL */
    char *cache;   /* how keys and values are kept, or NULL */
    bool then_prepare;
    SundogJobState state;
    SundogJobState wanted; /* what a cancelling is to end in */
    char *phase;
    double fraction;
    uint64_t n_bytes_done;
    uint64_t n_bytes_total;
    double bytes_per_second;
    char *message;
    char *result;
    GCancellable *cancellable; /* while it runs */
} SundogJob;

/* Carries the job out; ends with a call of sundog_job_ended(). */
void sundog_job_pull_start(SundogJob *job);
void sundog_job_child_start(SundogJob *job);

SundogJob *sundog_job_ref(SundogJob *job);
void sundog_job_unref(SundogJob *job);
/* Something that is shown has changed. */
void sundog_job_changed(SundogJob *job);
/* error NULL: done, with the result set. Borrowed. */
void sundog_job_ended(SundogJob *job, const GError *error);
