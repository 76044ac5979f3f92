/* sundog doctor: what was found on this machine, and what follows from each. */

#include "engine/command/command.h"
#include "engine/command/machine.h"
#include "engine/command/server-client.h"
#include "engine/command/terminal.h"
#include "engine/format/json-members.h"
#include "engine/library/config.h"
#include "engine/library/fit-file.h"
#include "engine/library/library.h"
#include "engine/replay/cuda-device.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef enum {
    GOOD,
    NOTE, /* works, but worth knowing */
    BAD,  /* something will not work until it is mended */
} Verdict;

/* One thing that was looked at. */
typedef struct {
    const char *what;
    Verdict verdict;
    char *found;
    char *follows; /* NULL: nothing to do */
} Finding;

static const char *const verdict_names[] = {"good", "note", "bad"};

static void
finding_free(gpointer data)
{
    Finding *finding = data;
    g_free(finding->found);
    g_free(finding->follows);
    g_free(finding);
}

/* Takes found and follows. */
static void
add(GPtrArray *findings, const char *what, Verdict verdict, char *found, char *follows)
{
    Finding *finding = g_new0(Finding, 1);
    *finding = (Finding){what, verdict, found, follows};
    g_ptr_array_add(findings, finding);
}

static void
look_at_processor(GPtrArray *findings)
{
    g_autofree char *name = sundog_machine_dup_processor();
    add(findings, "processor", GOOD,
        g_strdup_printf("%s, %u threads", name, g_get_num_processors()), NULL);
    const char *instructions = sundog_machine_get_instructions();
    if (instructions != NULL)
        add(findings, "instructions", GOOD, g_strdup(instructions),
            g_strdup("Kernels made for these instructions are used."));
    else
        add(findings, "instructions", NOTE, g_strdup("neither AVX-512 VNNI nor AVX2"),
            g_strdup("The plain kernels are used: answers are right, and slow."));
}

static void
look_at_memory(GPtrArray *findings)
{
    uint64_t total, available;
    if (!sundog_machine_get_memory(&total, &available)) {
        add(findings, "memory", NOTE, g_strdup("the system does not tell"), NULL);
        return;
    }
    g_autofree char *all = sundog_terminal_dup_size(total);
    g_autofree char *rest = sundog_terminal_dup_size(available);
    g_autofree char *quarter = sundog_terminal_dup_size(available / 4);
    add(findings, "memory", GOOD, g_strdup_printf("%s, %s of it available", all, rest),
        g_strdup_printf("A core's weights must fit into what is available. Of the rest, up to %s "
                        "goes to keys and values; `sundog config engine.cache_bytes` changes it.",
                        quarter));
}

static void
look_at_disk(GPtrArray *findings)
{
    uint64_t free_bytes;
    g_autoptr(GError) error = NULL;
    if (!sundog_machine_get_disk(sundog_paths_get_models(), &free_bytes, &error)) {
        add(findings, "disk", BAD, g_strdup(error->message),
            g_strdup("Nothing can be fetched or prepared until that folder can be reached."));
        return;
    }
    g_autofree char *size = sundog_terminal_dup_size(free_bytes);
    bool is_low = free_bytes < (uint64_t)1 << 30;
    add(findings, "disk", is_low ? NOTE : GOOD,
        g_strdup_printf("%s free in %s", size, sundog_paths_get_models()),
        is_low ? g_strdup("Make room before fetching a model: `sundog list` shows what is there, "
                          "`sundog rm NAME` takes it away.")
               : NULL);
}

/* The driver is there: whether it and this build's kernels are for the card. */
static void
look_at_card(GPtrArray *findings, const char *driver)
{
    g_autoptr(GError) error = NULL;
    SundogCudaCard card;
    if (!sundog_cuda_card_find(&card, &error)) {
        add(findings, "graphics card", NOTE,
            g_strdup_printf("driver %s: %s", driver, error->message),
            g_strdup("Models run on the processor. Cores for the card need a newer driver or one "
                     "that reaches it."));
        return;
    }
    g_autofree char *all = sundog_terminal_dup_size(card.total_bytes);
    g_autofree char *rest = sundog_terminal_dup_size(card.free_bytes);
    add(findings, "graphics card", card.target != NULL ? GOOD : NOTE,
        g_strdup_printf("%s (sm_%d%d), driver %s for CUDA %d.%d, %s, %s of it free", card.name,
                        card.major, card.minor, driver, card.cuda_version / 1000,
                        card.cuda_version % 1000 / 10, all, rest),
        card.target != NULL
            ? g_strdup_printf("`sundog prepare NAME --target %s` makes a core that runs on it; "
                              "weights, keys and values must fit into what is free.",
                              card.target)
            : g_strdup("This build carries no kernels for it: models run on the processor."));
}

static void
look_at_gpu(GPtrArray *findings)
{
    unsigned n = sundog_machine_count_nvidia_devices();
    g_autofree char *driver = sundog_machine_dup_nvidia_driver();
    if (n > 0)
        look_at_card(findings, driver != NULL ? driver : "not loaded");
    else if (driver == NULL)
        add(findings, "graphics card", GOOD, g_strdup("no NVIDIA card found"),
            g_strdup("Models run on the processor."));
    else
        add(findings, "graphics card", NOTE,
            g_strdup_printf("driver %s, but no device file in /dev", driver),
            g_strdup("Models run on the processor. In a container, the card has to be handed in."));
}

static void
look_at_program(GPtrArray *findings, const char *name, bool needed, const char *without)
{
    g_autofree char *path = sundog_paths_dup_program(name);
    if (access(path, X_OK) == 0)
        add(findings, name, GOOD, g_strdup(path), NULL);
    else
        add(findings, name, needed ? BAD : NOTE, g_strdup_printf("not found at %s", path),
            g_strdup(without));
}

static unsigned
count_damaged(GPtrArray *entries)
{
    unsigned n = 0;
    for (guint i = 0; i < entries->len; i++)
        n += ((SundogLibraryEntry *)entries->pdata[i])->damaged;
    return n;
}

static void
look_at_entries(GPtrArray *findings, SundogLibrary *library)
{
    g_autoptr(GPtrArray) models = sundog_library_list_models(library);
    g_autoptr(GPtrArray) cores = sundog_library_list_cores(library);
    unsigned n_damaged = count_damaged(models) + count_damaged(cores);
    char *follows = NULL;
    if (n_damaged > 0)
        follows = g_strdup("`sundog list` says what is wrong with each; `sundog rm NAME` works for "
                           "damaged ones too.");
    else if (models->len == 0 && cores->len == 0)
        follows = g_strdup("Begin with `sundog pull smollm2-135m-instruct`.");
    else if (cores->len == 0)
        follows = g_strdup("A model is prepared once before it runs: `sundog prepare NAME`.");
    add(findings, "library", n_damaged > 0 ? NOTE : GOOD,
        g_strdup_printf("models: %u, cores: %u, damaged: %u", models->len, cores->len, n_damaged),
        follows);
}

/* "1, 2, 4": the sizes that are kept of a fit, and how many were tried. */
static char *
dup_kept(JsonObject *gpu, guint *n_tried)
{
    GString *kept = g_string_new(NULL);
    JsonArray *rungs = sundog_json_get_array(gpu, "rungs");
    *n_tried = rungs != NULL ? json_array_get_length(rungs) : 0;
    for (guint i = 0; i < *n_tried; i++) {
        JsonObject *rung = sundog_json_get_element(rungs, i);
        if (sundog_json_get_bool(rung, "kept", false))
            g_string_append_printf(kept, "%s%.0f", kept->len > 0 ? ", " : "",
                                   sundog_json_get_number(rung, "sequences", 0));
    }
    return g_string_free(kept, FALSE);
}

static char *
dup_choice(JsonObject *gpu)
{
    guint n_tried;
    g_autofree char *kept = dup_kept(gpu, &n_tried);
    if (sundog_json_get_bool(gpu, "deterministic", false))
        return g_strdup_printf(
            "deterministic, as asked for; of %u sizes of steps these have a graph: %s", n_tried,
            kept);
    return g_strdup_printf("of %u sizes of steps these have a graph: %s", n_tried, kept);
}

/* Why: the times that decided. */
static char *
dup_reason(JsonObject *gpu)
{
    double usual = sundog_json_get_number(gpu, "usual_decode_us", 0);
    JsonArray *rungs = sundog_json_get_array(gpu, "rungs");
    guint n = rungs != NULL ? json_array_get_length(rungs) : 0;
    double one = sundog_json_get_number(sundog_json_get_element(rungs, 0), "us", 0);
    double most = sundog_json_get_number(sundog_json_get_element(rungs, n - 1), "us", 0);
    g_autofree char *cost =
        usual > 0 ? g_strdup_printf(
                        " Being deterministic, that one takes %.2f times as long as otherwise.",
                        one / usual)
                  : g_strdup("");
    return g_strdup_printf(
        "The others are not faster than the next larger, measured: a step of 1 took %.0f "
        "us, of %.0f %.0f.%s",
        one, sundog_json_get_number(sundog_json_get_element(rungs, n - 1), "sequences", 0), most,
        cost);
}

/* What runs otherwise than usual on a card, and why. */
static void
look_at_fit(GPtrArray *findings, const SundogLibraryEntry *core)
{
    const char *target = sundog_json_get_string(core->info, "target", "host");
    if (core->damaged || strcmp(target, "host") == 0 || sundog_machine_count_nvidia_devices() == 0)
        return;
    g_autoptr(JsonObject) fit =
        sundog_fit_file_read(core->name, sundog_json_get_string(core->info, "created", NULL));
    JsonObject *gpu = sundog_json_get_object(fit, "gpu");
    if (gpu == NULL)
        add(findings, "fit", NOTE,
            g_strdup_printf("%s: none, the usual sizes of steps have graphs", core->name),
            g_strdup_printf("`sundog fit %s` measures which are worth it here.", core->name));
    else {
        g_autofree char *choice = dup_choice(gpu);
        add(findings, "fit", GOOD, g_strdup_printf("%s: %s", core->name, choice), dup_reason(gpu));
    }
}

static void
look_at_fits(GPtrArray *findings, SundogLibrary *library)
{
    g_autoptr(GPtrArray) cores = sundog_library_list_cores(library);
    for (guint i = 0; i < cores->len; i++)
        look_at_fit(findings, cores->pdata[i]);
}

static void
look_at_library(GPtrArray *findings)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogLibrary) library = sundog_library_open(&error);
    if (library == NULL) {
        add(findings, "library", BAD, g_strdup(error->message), NULL);
        return;
    }
    g_autofree char *problem = sundog_library_dup_problem(library);
    if (problem != NULL)
        add(findings, "library", BAD, g_steal_pointer(&problem), NULL);
    else
        look_at_entries(findings, library);
    look_at_fits(findings, library);
}

static void
look_at_settings(GPtrArray *findings)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogConfig) config = sundog_config_open(&error);
    if (config != NULL)
        add(findings, "settings", GOOD, g_strdup(sundog_paths_get_config_file()), NULL);
    else
        add(findings, "settings", BAD, g_strdup(error->message),
            g_strdup("Mend the file, or move it away to begin with the defaults."));
}

static void
look_at_server(GPtrArray *findings)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonObject) server = sundog_server_client_find(&error);
    if (server == NULL) {
        add(findings, "server", GOOD, g_strdup("not running"),
            g_strdup("`sundog serve` or the app starts one."));
        return;
    }
    g_autoptr(JsonObject) state =
        sundog_server_client_ask(server, "GET", "/sundog/v1/state", NULL, &error);
    int port = (int)json_object_get_int_member_with_default(server, "port", 0);
    if (state != NULL)
        add(findings, "server", GOOD, g_strdup_printf("answers on port %d", port), NULL);
    else
        add(findings, "server", BAD,
            g_strdup_printf("is there on port %d but does not answer: %s", port, error->message),
            g_strdup("`sundog stop` ends it."));
}

static void
print_findings(GPtrArray *findings)
{
    static const char *const marks[] = {" ", "-", "!"};
    for (guint i = 0; i < findings->len; i++) {
        const Finding *finding = findings->pdata[i];
        printf("%s %-15s %s\n", marks[finding->verdict], finding->what, finding->found);
        if (finding->follows != NULL)
            printf("  %-15s %s\n", "", finding->follows);
    }
}

static void
print_json(GPtrArray *findings)
{
    JsonArray *array = json_array_new();
    for (guint i = 0; i < findings->len; i++) {
        const Finding *finding = findings->pdata[i];
        JsonObject *row = json_object_new();
        json_object_set_string_member(row, "what", finding->what);
        json_object_set_string_member(row, "verdict", verdict_names[finding->verdict]);
        json_object_set_string_member(row, "found", finding->found);
        if (finding->follows != NULL)
            json_object_set_string_member(row, "follows", finding->follows);
        json_array_add_object_element(array, row);
    }
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "version", SUNDOG_VERSION);
    json_object_set_array_member(object, "findings", array);
    sundog_terminal_print_json(object);
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GPtrArray) findings = g_ptr_array_new_with_free_func(finding_free);
    look_at_processor(findings);
    look_at_memory(findings);
    look_at_disk(findings);
    look_at_gpu(findings);
    look_at_program(findings, "sundog-engine", true,
                    "No core can run without it: build or install Sundog again.");
    look_at_program(findings, "sundog-desktop", false, "The app was not built; the rest works.");
    look_at_library(findings);
    look_at_settings(findings);
    look_at_server(findings);
    if (sundog_command_json)
        print_json(findings);
    else
        print_findings(findings);
    for (guint i = 0; i < findings->len; i++)
        if (((const Finding *)findings->pdata[i])->verdict == BAD)
            return SUNDOG_EXIT_FAILED;
    return SUNDOG_EXIT_OK;
}

const SundogCommand sundog_command_doctor = {
    .name = "doctor",
    .summary = "tell what this machine has and what follows",
    .parameters = "",
    .help = "Looks at processor, memory, disk, graphics card, programs, library, settings and "
            "server,\n"
            "and says what follows from each. The exit status is 1 where something has to be "
            "mended;\n"
            "such a line begins with an exclamation mark.",
    .has_json = true,
    .run = run,
};
