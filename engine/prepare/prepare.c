/*
 * From a model to a core: plan, write the members, sign. Everything that can be refused is refused by
 * the plan and by the check of the disk, before the package writer makes its folder; after that, any
 * failure leaves it to the writer to remove what it made.
 */

#include "engine/prepare/prepare.h"

#include "engine/format/error.h"
#include "engine/prepare/lower.h"
#include "engine/prepare/manifest.h"
#include "engine/prepare/pack.h"
#include "engine/prepare/plan.h"
#include "kernels/contract/cubins.h"

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

/* Bytes of the manifest for one weight and one hash, and of its fixed part; it is known exactly only
 * when written, and is below a thousandth of the core. */
#define MANIFEST_WEIGHT_BYTES 130
#define MANIFEST_FIXED_BYTES 3000

/* Shares of the whole at which the phases begin. */
#define FRACTION_WEIGHTS 0.02
#define FRACTION_TEXT 0.96
#define FRACTION_SIGN 0.98

static void
report(const SundogPrepareOptions *options, const char *phase, double fraction)
{
    if (options->progress != NULL)
        options->progress(phase, fraction, options->data);
}

static void
report_weights(double fraction, void *data)
{
    report(data, "weights", FRACTION_WEIGHTS + fraction * (FRACTION_TEXT - FRACTION_WEIGHTS));
}

static GBytes *
program_bytes(const SundogProgram *program)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_program_write(program, &writer);
    return sundog_writer_steal(&writer);
}

static GBytes *
vocabulary_bytes(const SundogModel *model)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_vocabulary_write(sundog_model_get_vocabulary(model), &writer);
    return sundog_writer_steal(&writer);
}

static uint64_t
measure_programs(const SundogPlan *plan)
{
    const SundogProgram *programs[] = {plan->forward.program, plan->sample, plan->draft.program,
                                       plan->reference};
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(programs); i++) {
        if (programs[i] == NULL)
            continue;
        g_autoptr(GBytes) bytes = program_bytes(programs[i]);
        n_bytes += g_bytes_get_size(bytes);
    }
    return n_bytes;
}

static uint64_t
measure_core(const SundogPlan *plan, const SundogModel *model)
{
    const char *template = sundog_model_get_chat_template(model);
    g_autoptr(GBytes) vocabulary = vocabulary_bytes(model);
    return plan->weight_bytes + measure_programs(plan) + g_bytes_get_size(vocabulary) +
           (template != NULL ? strlen(template) : 0) + MANIFEST_FIXED_BYTES +
           (uint64_t)MANIFEST_WEIGHT_BYTES * plan->weights->len;
}

bool
sundog_prepare_estimate(const SundogModel *model, const SundogPrepareOptions *options,
                        SundogPrepareEstimate *estimate, GError **error)
{
    g_auto(SundogPlan) plan = {0};
    if (!sundog_plan_make(&plan, model, options, error))
        return false;
    estimate->core_bytes = measure_core(&plan, model);
    estimate->memory_bytes =
        plan.weight_bytes + sundog_plan_measure_arena(&plan, options->n_threads);
    estimate->page_bytes = plan.cache.page_bytes;
    return true;
}

/* The nearest folder above a path that is there. */
static char *
dup_existing_parent(const char *path)
{
    char *parent = g_path_get_dirname(path);
    while (!g_file_test(parent, G_FILE_TEST_IS_DIR) && strcmp(parent, ".") != 0 &&
           strcmp(parent, "/") != 0) {
        char *above = g_path_get_dirname(parent);
        g_free(parent);
        parent = above;
    }
    return parent;
}

static bool
check_space(const char *folder, uint64_t n_bytes, GError **error)
{
    struct statvfs status;
    g_autofree char *parent = dup_existing_parent(folder);
    /* Where the file system does not say, writing will. */
    if (statvfs(parent, &status) != 0)
        return true;
    uint64_t n_free = (uint64_t)status.f_bavail * status.f_frsize;
    if (n_bytes <= n_free)
        return true;
    g_autofree char *needed = g_format_size(n_bytes);
    g_autofree char *found = g_format_size(n_free);
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO,
                "%s: the core needs %s on disk, %s are free", parent, needed, found);
    return false;
}

static bool
write_member(SundogPackageWriter *writer, const char *path, const void *data, size_t n_bytes,
             GError **error)
{
    return sundog_package_writer_begin(writer, path, error) &&
           sundog_package_writer_append(writer, data, n_bytes, error) &&
           sundog_package_writer_end(writer, error);
}

static bool
write_programs(const SundogPlan *plan, SundogPackageWriter *writer, GError **error)
{
    const SundogProgram *programs[] = {plan->forward.program, plan->sample, plan->draft.program,
                                       plan->reference};
    for (size_t i = 0; i < G_N_ELEMENTS(programs); i++) {
        if (programs[i] == NULL)
            continue;
        g_autoptr(GBytes) bytes = program_bytes(programs[i]);
        g_autofree char *path =
            g_strconcat("programs/", sundog_program_get_name(programs[i]), NULL);
        if (!write_member(writer, path, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes),
                          error))
            return false;
    }
    return true;
}

static bool
write_launch_list(const SundogLaunchList *list, const SundogProgram *program,
                  SundogPackageWriter *package, GError **error)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_launch_list_write(list, &writer);
    g_autoptr(GBytes) bytes = sundog_writer_steal(&writer);
    g_autofree char *path = g_strconcat("launches/", sundog_program_get_name(program), NULL);
    return write_member(package, path, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes),
                        error);
}

/* What a core for CUDA has beside its programs: how they are launched, and the code. */
static bool
write_launches(const SundogPlan *plan, SundogPackageWriter *writer, GError **error)
{
    if (plan->forward_launches == NULL)
        return true;
    if (!write_launch_list(plan->forward_launches, plan->forward.program, writer, error) ||
        (plan->sample_launches != NULL &&
         !write_launch_list(plan->sample_launches, plan->sample, writer, error)))
        return false;
    for (int i = 0; sundog_lower_modules[i] != NULL; i++) {
        const SundogCubin *cubin = sundog_cubin_find(plan->target, sundog_lower_modules[i]);
        g_autofree char *path = g_strdup_printf("kernels/%s.cubin", cubin->name);
        if (!write_member(writer, path, cubin->data, cubin->n_bytes, error))
            return false;
    }
    return true;
}

static bool
write_texts(const SundogModel *model, SundogPackageWriter *writer, GError **error)
{
    const char *template = sundog_model_get_chat_template(model);
    g_autoptr(GBytes) vocabulary = vocabulary_bytes(model);
    if (!write_member(writer, SUNDOG_CORE_VOCABULARY, g_bytes_get_data(vocabulary, NULL),
                      g_bytes_get_size(vocabulary), error))
        return false;
    return template == NULL ||
           write_member(writer, SUNDOG_CORE_TEMPLATE, template, strlen(template), error);
}

static bool
write_hole(const SundogPlan *plan, SundogPackageWriter *writer, GError **error)
{
    return sundog_package_writer_begin(writer, SUNDOG_CORE_WEIGHTS, error) &&
           sundog_package_writer_append_hole(writer, plan->weight_bytes, error) &&
           sundog_package_writer_end(writer, error);
}

static bool
write_members(const SundogPlan *plan, SundogModel *model, SundogPackageWriter *writer,
              const SundogPrepareOptions *options, GError **error)
{
    report(options, "weights", FRACTION_WEIGHTS);
    if (!write_programs(plan, writer, error) || !write_launches(plan, writer, error) ||
        !(options->hollow
              ? write_hole(plan, writer, error)
              : sundog_pack_weights(plan, writer, options, report_weights, (void *)options, error)))
        return false;
    report(options, "text", FRACTION_TEXT);
    return write_texts(model, writer, error);
}

/* The model's hash reads the whole file, so it is computed beside the packing; the model keeps it. */
typedef struct {
    SundogModel *model;
    GCancellable *cancellable; /* its own, since a failed packing ends it too */
    GThread *thread;
} Hashing;

static gpointer
hash_model(gpointer data)
{
    Hashing *hashing = data;
    sundog_model_get_sha256(hashing->model, hashing->cancellable, NULL);
    return NULL;
}

static void
hashing_start(Hashing *hashing, SundogModel *model)
{
    hashing->model = model;
    hashing->cancellable = g_cancellable_new();
    hashing->thread = g_thread_new("hash", hash_model, hashing);
}

static void
hashing_stop(Hashing *hashing, bool wait)
{
    if (!wait)
        g_cancellable_cancel(hashing->cancellable);
    g_thread_join(hashing->thread);
    g_object_unref(hashing->cancellable);
}

static bool
write_core(const SundogPlan *plan, SundogModel *model, SundogPackageWriter *writer,
           const SundogKeyring *keyring, const SundogPrepareOptions *options, GError **error)
{
    Hashing hashing;
    if (!options->hollow)
        hashing_start(&hashing, model);
    bool ok = write_members(plan, model, writer, options, error);
    if (!options->hollow)
        hashing_stop(&hashing, ok);
    if (!ok)
        return false;
    report(options, "sign", FRACTION_SIGN);
    g_autoptr(JsonObject) manifest = sundog_plan_to_manifest(plan, model, options, error);
    return manifest != NULL && !g_cancellable_set_error_if_cancelled(options->cancellable, error) &&
           sundog_package_writer_finish(writer, manifest, keyring, error);
}

bool
sundog_prepare(SundogModel *model, const char *folder, const SundogKeyring *keyring,
               const SundogPrepareOptions *options, GError **error)
{
    g_auto(SundogPlan) plan = {0};
    g_return_val_if_fail(options->name != NULL, false);
    report(options, "plan", 0);
    if (!sundog_plan_make(&plan, model, options, error) ||
        !check_space(folder, measure_core(&plan, model), error) ||
        g_cancellable_set_error_if_cancelled(options->cancellable, error))
        return false;
    g_autoptr(SundogPackageWriter) writer = sundog_package_writer_new(folder, error);
    if (writer == NULL || !write_core(&plan, model, writer, keyring, options, error))
        return false;
    report(options, "sign", 1);
    return true;
}
