/* The list of jobs, what may be done to them, and the file that keeps pulls over a restart. */

#include "engine/server/jobs.h"

#include "engine/format/json.h"
#include "engine/server/describe.h"
#include "engine/server/fields.h"
#include "engine/server/job.h"
#include <string.h>

#define MAX_JOBS 200

struct SundogJobs {
    SundogJobsOptions options;
    char *program;
    GPtrArray *list; /* SundogJob, in order */
    unsigned last_number;
};

static const struct {
    const char *text;
    const char *key; /* of its subject in the request */
    bool is_child;
} kinds[] = {
#define X(name, text, key, is_child) {text, key, is_child},
    SUNDOG_JOB_KINDS(X)
#undef X
};

static const char *const states[] = {"queued", "running", "waiting",  "paused",
                                     "done",   "failed",  "cancelled"};

static void start_next(SundogJobs *jobs);

SundogJob *
sundog_job_ref(SundogJob *job)
{
    job->n_references++;
    return job;
}

void
sundog_job_unref(SundogJob *job)
{
    if (!job || --job->n_references > 0)
        return;
    g_free(job->id);
    g_free(job->subject);
    g_free(job->from);
    g_free(job->name);
    g_free(job->activations);
    g_free(job->weights);
    g_free(job->cache);
    g_free(job->phase);
    g_free(job->message);
    g_free(job->result);
    g_clear_object(&job->cancellable);
    g_free(job);
}

static bool
is_active(const SundogJob *job)
{
    return job->state == SUNDOG_JOB_RUNNING || job->state == SUNDOG_JOB_WAITING;
}

static bool
is_over(const SundogJob *job)
{
    return job->state >= SUNDOG_JOB_DONE;
}

static char *
dup_title(const SundogJob *job)
{
    g_autofree char *base = g_path_get_basename(job->subject);
    return g_strdup_printf("%s %s", kinds[job->kind].text, base);
}

static JsonObject *
describe(const SundogJob *job)
{
    g_autofree char *title = dup_title(job);
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "id", job->id);
    json_object_set_string_member(object, "kind", kinds[job->kind].text);
    json_object_set_string_member(object, "title", title);
    json_object_set_string_member(object, kinds[job->kind].key, job->subject);
    json_object_set_string_member(object, "state", states[job->state]);
    sundog_describe_text(object, "phase", job->phase);
    json_object_set_double_member(object, "fraction", job->fraction);
    json_object_set_int_member(object, "bytes_done", (gint64)job->n_bytes_done);
    json_object_set_int_member(object, "bytes_total", (gint64)job->n_bytes_total);
    json_object_set_double_member(object, "bytes_per_second", job->bytes_per_second);
    sundog_describe_text(object, "message", job->message);
    sundog_describe_text(object, "result", job->result);
    return object;
}

void
sundog_job_changed(SundogJob *job)
{
    if (!job->jobs || !job->options->changed)
        return;
    g_autoptr(JsonObject) description = describe(job);
    job->options->changed(description, job->options->data);
}

/* The file of pulls */

static char *
dup_path(void)
{
    return g_build_filename(sundog_paths_get_state(), "jobs.json", NULL);
}

static JsonObject *
describe_for_file(const SundogJob *job)
{
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "kind", kinds[job->kind].text);
    json_object_set_string_member(object, kinds[job->kind].key, job->subject);
    if (job->from)
        json_object_set_string_member(object, "from", job->from);
    if (job->name)
        json_object_set_string_member(object, "name", job->name);
    json_object_set_boolean_member(object, "then_prepare", job->then_prepare);
    json_object_set_string_member(object, "state", states[job->state]);
    if (job->message)
        json_object_set_string_member(object, "message", job->message);
    return object;
}

static void
save(SundogJobs *jobs)
{
    JsonArray *list = json_array_new();
    for (guint i = 0; i < jobs->list->len; i++) {
        const SundogJob *job = jobs->list->pdata[i];
        if (job->kind == SUNDOG_JOB_PULL && job->state != SUNDOG_JOB_DONE &&
            job->state != SUNDOG_JOB_CANCELLED)
            json_array_add_object_element(list, describe_for_file(job));
    }
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    JsonObject *root = json_object_new();
    json_object_set_int_member(root, "version", 1);
    json_object_set_array_member(root, "jobs", list);
    json_node_take_object(node, root);
    g_autofree char *text = sundog_json_print(node, true);
    g_autofree char *path = dup_path();
    g_autoptr(GError) error = NULL;
    if (!g_file_set_contents_full(path, text, -1,
                                  G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE,
                                  0600, &error) &&
        jobs->options.log)
        jobs->options.log("warning", error->message, jobs->options.data);
}

/* Running */

static bool
runs_child(const SundogJobs *jobs)
{
    for (guint i = 0; i < jobs->list->len; i++) {
        const SundogJob *job = jobs->list->pdata[i];
        if (kinds[job->kind].is_child && job->cancellable)
            return true;
    }
    return false;
}

static void
start(SundogJob *job)
{
    job->state = SUNDOG_JOB_RUNNING;
    job->wanted = SUNDOG_JOB_CANCELLED;
    job->cancellable = g_cancellable_new();
    g_clear_pointer(&job->message, g_free);
    sundog_job_changed(job);
    if (kinds[job->kind].is_child)
        sundog_job_child_start(job);
    else
        sundog_job_pull_start(job);
}

/* Pulls run beside each other; children use the whole machine and go one after the other. */
static void
start_next(SundogJobs *jobs)
{
    for (guint i = 0; i < jobs->list->len; i++) {
        SundogJob *job = jobs->list->pdata[i];
        bool may_start = !kinds[job->kind].is_child || !runs_child(jobs);
        if (job->state == SUNDOG_JOB_QUEUED && !job->cancellable && may_start) {
            sundog_job_ref(job);
            start(job);
            sundog_job_unref(job);
        }
    }
}

static SundogJob *
add_job(SundogJobs *jobs, SundogJobKind kind, const char *subject)
{
    SundogJob *job = g_new0(SundogJob, 1);
    job->n_references = 1;
    job->jobs = jobs;
    job->options = &jobs->options;
    job->id = g_strdup_printf("j%u", ++jobs->last_number);
    job->kind = kind;
    job->subject = g_strdup(subject);
    g_ptr_array_add(jobs->list, job);
    return job;
}

static void
settle(SundogJob *job, const GError *error)
{
    bool is_cancelled = g_cancellable_is_cancelled(job->cancellable);
    g_clear_object(&job->cancellable);
    job->bytes_per_second = 0;
    g_clear_pointer(&job->message, g_free);
    if (!error) {
        job->state = SUNDOG_JOB_DONE;
        job->fraction = 1;
        return;
    }
    if (is_cancelled) {
        job->state = job->wanted;
        return;
    }
    job->message = g_strdup(error->message);
    /* With room made, the same job goes on where it is. */
    job->state = g_error_matches(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NO_SPACE)
                     ? SUNDOG_JOB_PAUSED
                     : SUNDOG_JOB_FAILED;
}

void
sundog_job_ended(SundogJob *job, const GError *error)
{
    SundogJobs *jobs = job->jobs;
    if (!jobs)
        return;
    settle(job, error);
    if (job->state == SUNDOG_JOB_DONE && job->kind == SUNDOG_JOB_PULL && job->then_prepare)
        add_job(jobs, SUNDOG_JOB_PREPARE, job->result);
    save(jobs);
    sundog_job_changed(job);
    if (job->state == SUNDOG_JOB_DONE && jobs->options.library_changed)
        jobs->options.library_changed(jobs->options.data);
    start_next(jobs);
}

/* Taking up and ending */

static int
find_text(const char *text, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (g_strcmp0(texts[i], text) == 0)
            return (int)i;
    return -1;
}

static void
take_up(SundogJobs *jobs, JsonObject *object)
{
    const char *source = json_object_get_string_member_with_default(object, "source", NULL);
    const char *state = json_object_get_string_member_with_default(object, "state", "queued");
    if (!source)
        return;
    SundogJob *job = add_job(jobs, SUNDOG_JOB_PULL, source);
    job->from = g_strdup(json_object_get_string_member_with_default(object, "from", NULL));
    job->name = g_strdup(json_object_get_string_member_with_default(object, "name", NULL));
    job->message = g_strdup(json_object_get_string_member_with_default(object, "message", NULL));
    job->then_prepare = json_object_get_boolean_member_with_default(object, "then_prepare", false);
    int known = find_text(state, states, G_N_ELEMENTS(states));
    job->state = known == SUNDOG_JOB_PAUSED || known == SUNDOG_JOB_FAILED ? (SundogJobState)known
                                                                          : SUNDOG_JOB_QUEUED;
}

static void
take_up_all(SundogJobs *jobs)
{
    g_autofree char *path = dup_path();
    g_autofree char *text = NULL;
    size_t n_bytes = 0;
    if (!g_file_get_contents(path, &text, &n_bytes, NULL))
        return;
    g_autoptr(JsonNode) node = sundog_json_parse(text, n_bytes, NULL);
    JsonObject *root = node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    JsonNode *list = root ? json_object_get_member(root, "jobs") : NULL;
    if (!list || !JSON_NODE_HOLDS_ARRAY(list)) {
        if (jobs->options.log)
            jobs->options.log("warning", "jobs.json is damaged: its downloads are forgotten",
                              jobs->options.data);
        return;
    }
    JsonArray *array = json_node_get_array(list);
    for (guint i = 0; i < MIN(json_array_get_length(array), MAX_JOBS); i++) {
        JsonNode *element = json_array_get_element(array, i);
        if (JSON_NODE_HOLDS_OBJECT(element))
            take_up(jobs, json_node_get_object(element));
    }
}

SundogJobs *
sundog_jobs_new(const SundogJobsOptions *options)
{
    SundogJobs *jobs = g_new0(SundogJobs, 1);
    jobs->options = *options;
    jobs->program = g_strdup(options->program);
    jobs->options.program = jobs->program;
    jobs->list = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_job_unref);
    take_up_all(jobs);
    start_next(jobs);
    return jobs;
}

void
sundog_jobs_free(SundogJobs *jobs)
{
    if (!jobs)
        return;
    for (guint i = 0; i < jobs->list->len; i++) {
        SundogJob *job = jobs->list->pdata[i];
        job->jobs = NULL;
        if (job->cancellable)
            g_cancellable_cancel(job->cancellable);
    }
    g_ptr_array_unref(jobs->list);
    g_free(jobs->program);
    g_free(jobs);
}

/* Requests */

static bool
read_kind(JsonObject *request, SundogJobKind *kind, SundogApiError **error)
{
    const char *text = NULL;
    if (!sundog_field_read_text(request, SUNDOG_FIELD_KIND, &text, error))
        return false;
    if (!text)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "kind", "kind", NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(kinds[i].text, text) == 0) {
            *kind = (SundogJobKind)i;
            return true;
        }
    }
    return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "kind", "kind",
                                "it is pull, prepare, fit or verify", NULL);
}

typedef struct {
    SundogJobKind kind;
    const char *subject;
    const char *from;
    const char *name;
    const char *activations;
    const char *weights;
    const char *cache;
    bool then_prepare;
} Request;

/* A subject becomes an argument of a child: it must not look like an option. */
static bool
read_request(JsonObject *object, Request *request, SundogApiError **error)
{
    if (!read_kind(object, &request->kind, error))
        return false;
    const char *key = kinds[request->kind].key;
    const char *name_key = request->kind == SUNDOG_JOB_PREPARE ? "core" : "name";
    if (!sundog_field_get_text(object, key, &request->subject, error) ||
        !sundog_field_read_text(object, SUNDOG_FIELD_FROM, &request->from, error) ||
        !sundog_field_read_text(object, SUNDOG_FIELD_ACTIVATIONS, &request->activations, error) ||
        !sundog_field_read_text(object, SUNDOG_FIELD_WEIGHTS, &request->weights, error) ||
        !sundog_field_read_text(object, SUNDOG_FIELD_CACHE, &request->cache, error) ||
        !sundog_field_read_boolean(object, SUNDOG_FIELD_THEN_PREPARE, &request->then_prepare,
                                   error) ||
        (request->kind <= SUNDOG_JOB_PULL && request->kind != SUNDOG_JOB_FIT &&
         !sundog_field_get_text(object, name_key, &request->name, error)))
        return false;
    if (!request->subject || !*request->subject)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, key, key, NULL);
    if (request->subject[0] == '-')
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, key, key,
                                    "it begins with “-”", NULL);
    if (request->name && !sundog_library_name_is_valid(request->name))
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, name_key, name_key,
                                    "it cannot be a name", NULL);
    if (request->activations && strcmp(request->activations, "int8") != 0 &&
        strcmp(request->activations, "f32") != 0)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "activations",
                                    "activations", "it is int8 or f32", NULL);
    if (request->weights && strcmp(request->weights, "q8") != 0 &&
        strcmp(request->weights, "q4") != 0 && strcmp(request->weights, "fp8") != 0)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "weights", "weights",
                                    "it is q8, q4 or fp8", NULL);
    if (request->cache && strcmp(request->cache, "q8") != 0)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "cache", "cache",
                                    "it is q8", NULL);
    return true;
}

static SundogJob *
find_same(SundogJobs *jobs, const Request *request)
{
    for (guint i = 0; i < jobs->list->len; i++) {
        SundogJob *job = jobs->list->pdata[i];
        if (!is_over(job) && job->kind == request->kind &&
            strcmp(job->subject, request->subject) == 0 && g_strcmp0(job->name, request->name) == 0)
            return job;
    }
    return NULL;
}

/* The list is shown whole, so what ended long ago leaves it first. */
static bool
make_room(SundogJobs *jobs)
{
    for (guint i = 0; i < jobs->list->len && jobs->list->len >= MAX_JOBS; i++)
        if (is_over(jobs->list->pdata[i]))
            g_ptr_array_remove_index(jobs->list, i--);
    return jobs->list->len < MAX_JOBS;
}

JsonObject *
sundog_jobs_add(SundogJobs *jobs, JsonObject *object, SundogApiError **error)
{
    Request request = {0};
    if (!read_request(object, &request, error))
        return NULL;
    /* Asked for twice is meant once. */
    SundogJob *job = find_same(jobs, &request);
    if (job && job->state == SUNDOG_JOB_PAUSED)
        job->state = SUNDOG_JOB_QUEUED;
    if (!job && !make_room(jobs)) {
        sundog_api_error_set(error, SUNDOG_API_ERROR_CONFLICT, NULL, "There are too many jobs",
                             NULL);
        return NULL;
    }
    if (!job) {
        job = add_job(jobs, request.kind, request.subject);
        job->from = g_strdup(request.from);
        job->name = g_strdup(request.name);
        job->activations = g_strdup(request.activations);
        job->weights = g_strdup(request.weights);
        job->cache = g_strdup(request.cache);
        job->then_prepare = request.then_prepare;
    }
    sundog_job_ref(job);
    save(jobs);
    start_next(jobs);
    JsonObject *description = describe(job);
    sundog_job_unref(job);
    return description;
}

static SundogJob *
find(SundogJobs *jobs, const char *id, SundogApiError **error)
{
    for (guint i = 0; i < jobs->list->len; i++) {
        SundogJob *job = jobs->list->pdata[i];
        if (strcmp(job->id, id) == 0)
            return job;
    }
    if (error)
        sundog_api_error_set(error, SUNDOG_API_ERROR_NO_JOB, NULL, id, NULL);
    return NULL;
}

JsonObject *
sundog_jobs_describe(SundogJobs *jobs, const char *id)
{
    SundogJob *job = find(jobs, id, NULL);
    return job ? describe(job) : NULL;
}

JsonArray *
sundog_jobs_describe_all(SundogJobs *jobs)
{
    JsonArray *array = json_array_new();
    for (guint i = 0; i < jobs->list->len; i++)
        json_array_add_object_element(array, describe(jobs->list->pdata[i]));
    return array;
}

/* What is asked for is shown at once, though the work may take a moment to end. */
static void
interrupt(SundogJobs *jobs, SundogJob *job, SundogJobState state)
{
    sundog_job_ref(job);
    job->state = state;
    job->wanted = state;
    if (job->cancellable)
        g_cancellable_cancel(job->cancellable);
    save(jobs);
    sundog_job_changed(job);
    sundog_job_unref(job);
}

bool
sundog_jobs_remove(SundogJobs *jobs, const char *id, SundogApiError **error)
{
    SundogJob *job = find(jobs, id, error);
    if (!job)
        return false;
    if (!is_over(job)) {
        interrupt(jobs, job, SUNDOG_JOB_CANCELLED);
    } else if (!job->cancellable) {
        g_ptr_array_remove(jobs->list, job);
        save(jobs);
    }
    return true;
}

bool
sundog_jobs_pause(SundogJobs *jobs, const char *id, SundogApiError **error)
{
    SundogJob *job = find(jobs, id, error);
    if (!job)
        return false;
    if (job->kind != SUNDOG_JOB_PULL)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_CONFLICT, NULL,
                                    "Only downloads can be paused: cancel it instead", NULL);
    if (is_active(job) || job->state == SUNDOG_JOB_QUEUED)
        interrupt(jobs, job, SUNDOG_JOB_PAUSED);
    return true;
}

bool
sundog_jobs_resume(SundogJobs *jobs, const char *id, SundogApiError **error)
{
    SundogJob *job = find(jobs, id, error);
    if (!job)
        return false;
    if (is_active(job) || job->state == SUNDOG_JOB_QUEUED || job->state == SUNDOG_JOB_DONE)
        return true;
    job->state = SUNDOG_JOB_QUEUED;
    /* One that is still ending is taken up again when it has ended. */
    job->wanted = SUNDOG_JOB_QUEUED;
    save(jobs);
    sundog_job_changed(job);
    start_next(jobs);
    return true;
}

bool
sundog_jobs_use(SundogJobs *jobs, const char *name)
{
    for (guint i = 0; i < jobs->list->len; i++) {
        const SundogJob *job = jobs->list->pdata[i];
        if (!is_over(job) && (strcmp(job->subject, name) == 0 || g_strcmp0(job->name, name) == 0))
            return true;
    }
    return false;
}
