#pragma once

/*
 * Long work: pulls in this process, and prepare, fit and verify as child processes, one of these at a
 * time. Jobs belong to the server and to no window. Pulls that are not done are kept in
 * state/jobs.json and go on after a restart.
 */

#include "engine/library/catalogue.h"
#include "engine/library/config.h"
#include "engine/library/library.h"
#include "engine/server/api-error.h"
#include <json-glib/json-glib.h>

typedef struct SundogJobs SundogJobs;

typedef struct {
    SundogLibrary *library;
    const SundogCatalogue *catalogue; /* or NULL */
    const SundogConfig *config;
    const char *program; /* of the children: `sundog` */
    /* A job changed; the description is borrowed. */
    void (*changed)(JsonObject *description, void *data);
    /* A model or core came. */
    void (*library_changed)(void *data);
    void (*log)(const char *level, const char *text, void *data);
    void *data;
} SundogJobsOptions;

/* Takes up the pulls of an earlier server. */
SundogJobs *sundog_jobs_new(const SundogJobsOptions *options);
/* Ends all work; pulls stay in jobs.json. */
void sundog_jobs_free(SundogJobs *jobs);

/* From the body of POST /sundog/v1/jobs. The new job's description, owned by the caller, or NULL. */
JsonObject *sundog_jobs_add(SundogJobs *jobs, JsonObject *request, SundogApiError **error);
/* NULL where there is no such job; owned by the caller. */
JsonObject *sundog_jobs_describe(SundogJobs *jobs, const char *id);
JsonArray *sundog_jobs_describe_all(SundogJobs *jobs);
/* Cancels a job that is not over (its partial files stay), forgets one that is. */
bool sundog_jobs_remove(SundogJobs *jobs, const char *id, SundogApiError **error);
bool sundog_jobs_pause(SundogJobs *jobs, const char *id, SundogApiError **error);
/* Also tries a failed or cancelled job again. */
bool sundog_jobs_resume(SundogJobs *jobs, const char *id, SundogApiError **error);
/* Whether a job that is not over works on this model or core. */
bool sundog_jobs_use(SundogJobs *jobs, const char *name);
