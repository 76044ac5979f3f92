/* Pulls as jobs of the server. */

#include "engine/server/job.h"

static const char *
phase_text(SundogPullPhase phase)
{
    static const char *const texts[] = {"connecting", "transfer", "waiting", "checking", "done"};
    return texts[phase];
}

static void
on_progress(const SundogPullProgress *progress, void *data)
{
    SundogJob *job = data;
    if (!job->jobs || job->state == SUNDOG_JOB_PAUSED || job->state == SUNDOG_JOB_CANCELLED)
        return;
    g_free(job->phase);
    g_free(job->message);
    job->phase = g_strdup(phase_text(progress->phase));
    job->message = g_strdup(progress->detail);
    job->n_bytes_done = progress->n_bytes_done;
    job->n_bytes_total = progress->n_bytes_total;
    job->bytes_per_second = progress->bytes_per_second;
    job->fraction = progress->n_bytes_total
                        ? (double)progress->n_bytes_done / (double)progress->n_bytes_total
                        : 0;
    job->state = progress->phase == SUNDOG_PULL_WAITING ? SUNDOG_JOB_WAITING : SUNDOG_JOB_RUNNING;
    sundog_job_changed(job);
}

static void
on_pulled(GObject *source, GAsyncResult *result, void *data)
{
    SundogJob *job = data;
    g_autoptr(GError) error = NULL;
    char *name = sundog_pull_finish(NULL, result, &error);
    if (name) {
        g_free(job->result);
        job->result = name;
    }
    sundog_job_ended(job, error);
    sundog_job_unref(job);
}

void
sundog_job_pull_start(SundogJob *job)
{
    const SundogJobsOptions *options = job->options;
    sundog_pull_async(
        options->library, options->catalogue,
        &(SundogPullOptions){.source = job->subject,
                             .from = job->from,
                             .name = job->name,
                             .token = sundog_config_get_text(options->config, "library.token"),
                             .progress = on_progress,
                             .data = job},
        job->cancellable, on_pulled, sundog_job_ref(job));
}
