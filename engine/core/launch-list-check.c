/* What can be known of a launch list before it runs: which operations are carried out, that data flows
 * through memory as the program says, ranges, lifetimes and edges. */

#include "engine/core/launch-list-private.h"
#include "engine/core/operation-check.h"
#include "engine/format/error.h"

#include <string.h>

typedef struct {
    const SundogLaunchList *list;
    const SundogProgram *program;
    const SundogLaunchVariant *variant;
    SundogShape bounds;         /* the program's, with the variant's tokens */
    SundogLifetime *operations; /* lifetimes by the program's operations */
    bool *is_written;           /* [n_buffers] */
    GString *faults;
} Check;

static void G_GNUC_PRINTF(3, 4)
    fault(Check *check, const SundogLaunch *launch, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    sundog_faults_add(check->faults,
                      "steps of %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " tokens, %s: %s",
                      check->variant->min_tokens, check->variant->max_tokens, launch->entry, text);
}

static bool
names(const SundogLaunchField *field, SundogBufferId id)
{
    return sundog_launch_field_names_buffer(field) && field->buffer == id;
}

static bool
is_named(const Check *check, const SundogLaunch *launch, SundogBufferId id, bool to_write)
{
    const SundogLaunchField *fields = sundog_launch_list_get_fields(check->list, launch);
    for (uint32_t i = 0; i < launch->n_fields; i++)
        if (names(&fields[i], id) && (!to_write || (fields[i].access & SUNDOG_ACCESS_WRITE) != 0))
            return true;
    return false;
}

/* True where only operations of this launch name the buffer, so that it need not be in memory. */
static bool
is_inner(const Check *check, const SundogLaunch *launch, SundogBufferId id)
{
    const SundogLifetime *lifetime = &check->operations[id];
    return sundog_program_get_buffer(check->program, id)->role == SUNDOG_BUFFER_TEMPORARY &&
           lifetime->first >= launch->first_operation &&
           lifetime->last < launch->first_operation + launch->n_operations;
}

/* Every result of the covered operations, and every temporary that they take, is in the launch's hands. */
static void
check_argument(Check *check, const SundogLaunch *launch, SundogBufferId id, SundogAccess access)
{
    const SundogBuffer *buffer = sundog_program_get_buffer(check->program, id);
    bool writes = (access & SUNDOG_ACCESS_WRITE) != 0;
    bool passes = buffer->role == SUNDOG_BUFFER_TEMPORARY || buffer->role == SUNDOG_BUFFER_STATE;
    if (access == SUNDOG_ACCESS_WORKSPACE || (!writes && !passes) || is_inner(check, launch, id) ||
        is_named(check, launch, id, writes))
        return;
    /* Operations that write over what they read in a fused run write it nowhere where nobody reads it. */
    if (access == SUNDOG_ACCESS_UPDATE && is_named(check, launch, id, false) &&
        check->operations[id].last < launch->first_operation + launch->n_operations)
        return;
    fault(check, launch, "\"%s\" is %s by its operations, and not by it", buffer->name,
          writes ? "written" : "read");
}

static void
check_operations(Check *check, const SundogLaunch *launch)
{
    for (uint32_t i = 0; i < launch->n_operations; i++) {
        const SundogOperation *operation =
            sundog_program_get_operation(check->program, launch->first_operation + i);
        const SundogArgumentInfo *info = sundog_operations[operation->kind].arguments;
        for (int a = 0; info[a].name != NULL; a++)
            if (operation->arguments[a] != SUNDOG_BUFFER_NONE)
                check_argument(check, launch, operation->arguments[a],
                               (SundogAccess)((int)info[a].access & ~SUNDOG_ACCESS_OPTIONAL));
    }
}

static void
check_range(Check *check, const SundogLaunch *launch, const SundogLaunchField *field)
{
    const SundogBuffer *buffer = sundog_program_get_buffer(check->program, field->buffer);
    uint64_t n_bytes = sundog_program_buffer_bytes(check->program, field->buffer, &check->bounds);
    int64_t touched =
        sundog_expression_evaluate(check->list->expressions, field->n_bytes, &check->bounds);
    if (!field->all_bytes && (uint64_t)touched > n_bytes)
        fault(check, launch,
              "%" G_GINT64_FORMAT " bytes of \"%s\" are touched, which has %" G_GUINT64_FORMAT,
              touched, buffer->name, n_bytes);
    if ((field->access & SUNDOG_ACCESS_WRITE) != 0 &&
        (buffer->role == SUNDOG_BUFFER_WEIGHT ||
         (buffer->role == SUNDOG_BUFFER_INPUT && field->access == SUNDOG_ACCESS_WRITE)))
        fault(check, launch, "\"%s\" may not be written", buffer->name);
}

/* What the driver makes maps of: rows of bf16 that begin at whole 16 bytes. */
static void
check_map(Check *check, const SundogLaunch *launch, const SundogLaunchField *field)
{
    const SundogBuffer *buffer = sundog_program_get_buffer(check->program, field->buffer);
    int64_t n_rows =
        sundog_expression_evaluate(check->list->expressions, field->value, &check->bounds);
    int64_t n_columns = sundog_expression_evaluate(sundog_program_get_expressions(check->program),
                                                   buffer->shape[buffer->rank - 1], &check->bounds);
    if (buffer->rank < 2 || buffer->dtype != SUNDOG_DTYPE_BF16 || n_columns % 8 != 0)
        fault(check, launch, "\"%s\" has no rows of bf16 with a multiple of 8 columns",
              buffer->name);
    if (n_rows < 1 || n_rows > SUNDOG_LAUNCH_MAX_BOX_ROWS || field->access != SUNDOG_ACCESS_READ)
        fault(check, launch, "\"%s\" is copied in boxes of %" G_GINT64_FORMAT " rows, not 1 to %d",
              buffer->name, n_rows, SUNDOG_LAUNCH_MAX_BOX_ROWS);
}

static void
read_buffer(Check *check, const SundogLaunch *launch, const SundogLaunchField *field)
{
    const char *name = sundog_program_get_buffer(check->program, field->buffer)->name;
    if (!check->is_written[field->buffer])
        fault(check, launch, "\"%s\" is read before it is written", name);
}

/* One launch reads first, then writes. */
static void
flow_launch(Check *check, const SundogLaunch *launch)
{
    const SundogLaunchField *fields = sundog_launch_list_get_fields(check->list, launch);
    for (uint32_t i = 0; i < launch->n_fields; i++)
        if (sundog_launch_field_names_buffer(&fields[i])) {
            check_range(check, launch, &fields[i]);
            if (fields[i].kind == SUNDOG_FIELD_TENSOR_MAP)
                check_map(check, launch, &fields[i]);
            if ((fields[i].access & SUNDOG_ACCESS_READ) != 0)
                read_buffer(check, launch, &fields[i]);
        }
    for (uint32_t i = 0; i < launch->n_fields; i++)
        if (sundog_launch_field_names_buffer(&fields[i]) &&
            (fields[i].access & SUNDOG_ACCESS_WRITE) != 0)
            check->is_written[fields[i].buffer] = true;
}

static bool
ids_are_known(Check *check, const SundogLaunch *launch)
{
    uint32_t n = sundog_program_get_n_buffers(check->program);
    const SundogLaunchField *fields = sundog_launch_list_get_fields(check->list, launch);
    for (uint32_t i = 0; i < launch->n_fields; i++) {
        if (!sundog_launch_field_names_buffer(&fields[i]))
            continue;
        if (fields[i].buffer < n)
            continue;
        fault(check, launch, "names buffer %u, which is not there", fields[i].buffer);
        return false;
    }
    return true;
}

static bool
has_module(const Check *check, const char *name)
{
    for (uint32_t i = 0; i < check->list->modules->len; i++)
        if (strcmp(sundog_launch_list_get_module(check->list, i)->name, name) == 0)
            return true;
    return false;
}

static void
check_form(Check *check, const SundogLaunch *launch)
{
    static const int64_t most[3] = {INT32_MAX, 65535, 65535};
    if (!has_module(check, launch->module))
        fault(check, launch, "the module \"%s\" is not in the list", launch->module);
    if (launch->edge == SUNDOG_EDGE_PROGRAMMATIC && !launch->waits)
        fault(check, launch, "the edge is programmatic, and the code does not wait");
    for (int d = 0; d < 3; d++) {
        int64_t size =
            sundog_expression_evaluate(check->list->expressions, launch->grid[d], &check->bounds);
        if (size < 1 || size > most[d])
            fault(check, launch, "the grid is %" G_GINT64_FORMAT " in dimension %d", size, d);
    }
}

static void
begin_flow(Check *check)
{
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(check->program); id++) {
        SundogBufferRole role = sundog_program_get_buffer(check->program, id)->role;
        check->is_written[id] = role != SUNDOG_BUFFER_OUTPUT && role != SUNDOG_BUFFER_TEMPORARY;
    }
}

static void
check_outputs(Check *check)
{
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(check->program); id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(check->program, id);
        if (buffer->role == SUNDOG_BUFFER_OUTPUT && !check->is_written[id])
            sundog_faults_add(check->faults,
                              "steps of %" G_GINT64_FORMAT
                              " tokens: output \"%s\" is never written",
                              check->variant->min_tokens, buffer->name);
    }
}

static void
check_variant(Check *check)
{
    uint32_t next = 0;
    const SundogLaunchVariant *variant = check->variant;
    check->bounds = *sundog_program_get_bounds(check->program);
    check->bounds.values[SUNDOG_VARIABLE_TOKENS] =
        MIN(variant->max_tokens, check->bounds.values[SUNDOG_VARIABLE_TOKENS]);
    /* No more sequences, and no more rows with logits, than rows. */
    for (int v = SUNDOG_VARIABLE_SEQUENCES; v <= SUNDOG_VARIABLE_LOGIT_ROWS; v++)
        check->bounds.values[v] =
            MIN(check->bounds.values[v], check->bounds.values[SUNDOG_VARIABLE_TOKENS]);
    begin_flow(check);
    for (uint32_t i = 0; i < variant->n_launches; i++) {
        const SundogLaunch *launch =
            sundog_launch_list_get_launch(check->list, variant->first_launch + i);
        uint32_t n_operations = sundog_program_get_n_operations(check->program);
        if (launch->first_operation != next || launch->n_operations == 0 ||
            launch->n_operations > n_operations - next) {
            fault(check, launch, "operation %u is next, %u operations from %u on are carried out",
                  next, launch->n_operations, launch->first_operation);
            return;
        }
        next += launch->n_operations;
        if (!ids_are_known(check, launch))
            return;
        check_form(check, launch);
        check_operations(check, launch);
        flow_launch(check, launch);
    }
    if (next != sundog_program_get_n_operations(check->program))
        sundog_faults_add(
            check->faults,
            "steps of %" G_GINT64_FORMAT " tokens: %u of %u operations are carried out",
            variant->min_tokens, next, sundog_program_get_n_operations(check->program));
    check_outputs(check);
}

static bool
has_alike(const SundogLaunchList *list)
{
    for (uint32_t i = 0; i < list->variants->len; i++)
        if (sundog_launch_list_get_variant(list, i)->steps == SUNDOG_STEPS_ALIKE)
            return true;
    return false;
}

/* Every number of tokens has a variant, whatever its sequences look like; one token is one row. */
static void
check_steps(const SundogLaunchList *list, const SundogProgram *program, GString *faults)
{
    static const char *const told[] = {"", ", one a sequence", " that are all alike"};
    int64_t most = sundog_program_get_bounds(program)->values[SUNDOG_VARIABLE_TOKENS];
    int end = has_alike(list) ? SUNDOG_N_STEPS : SUNDOG_STEPS_ALIKE;
    for (int64_t n = 1; n <= most; n++)
        for (int steps = n == 1 ? SUNDOG_STEPS_ONE_ROW : SUNDOG_STEPS_MIXED; steps < end; steps++)
            if (sundog_launch_list_find_variant(list, n, (SundogSteps)steps) == NULL) {
                sundog_faults_add(faults,
                                  "no variant is for steps of %" G_GINT64_FORMAT " tokens%s", n,
                                  told[steps]);
                return;
            }
}

typedef struct {
    const char *name;
    SundogLifetime lifetime;
    uint64_t begin;
    uint64_t end;
} Place;

static GArray *
collect_places(const SundogProgram *program, const SundogLifetime *lifetimes, GString *faults)
{
    GArray *places = g_array_new(FALSE, FALSE, sizeof(Place));
    uint64_t arena = sundog_program_get_arena_bytes(program);
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        if (buffer->role != SUNDOG_BUFFER_TEMPORARY || !lifetimes[id].is_used)
            continue;
        uint64_t n_bytes =
            sundog_program_buffer_bytes(program, id, sundog_program_get_bounds(program));
        if (n_bytes > arena || buffer->offset > arena - n_bytes)
            sundog_faults_add(faults, "buffer \"%s\" ends outside the arena", buffer->name);
        else
            g_array_append_val(places, ((Place){buffer->name, lifetimes[id], buffer->offset,
                                                buffer->offset + n_bytes}));
    }
    return places;
}

static void
check_arena(const SundogLaunchList *list, const SundogProgram *program, GString *faults)
{
    g_autofree SundogLifetime *lifetimes = sundog_launch_list_dup_lifetimes(list, program);
    g_autoptr(GArray) places = collect_places(program, lifetimes, faults);
    for (uint32_t i = 0; i < places->len; i++)
        for (uint32_t j = i + 1; j < places->len; j++) {
            const Place *a = &g_array_index(places, Place, i),
                        *b = &g_array_index(places, Place, j);
            if (a->lifetime.first <= b->lifetime.last && b->lifetime.first <= a->lifetime.last &&
                a->begin < b->end && b->begin < a->end)
                sundog_faults_add(faults, "buffers \"%s\" and \"%s\" overlap while both live",
                                  a->name, b->name);
        }
}

bool
sundog_launch_list_check(const SundogLaunchList *list, const SundogProgram *program, GError **error)
{
    uint32_t n_buffers = sundog_program_get_n_buffers(program);
    g_autoptr(GString) faults = g_string_new(NULL);
    g_autofree SundogLifetime *operations = sundog_program_dup_lifetimes(program);
    g_autofree bool *is_written = g_new0(bool, n_buffers + 1);
    Check check = {.list = list,
                   .program = program,
                   .operations = operations,
                   .is_written = is_written,
                   .faults = faults};
    for (uint32_t i = 0; i < list->variants->len; i++) {
        check.variant = sundog_launch_list_get_variant(list, i);
        check_variant(&check);
    }
    check_steps(list, program, faults);
    /* Lifetimes mean nothing while launches name what is not there. */
    if (faults->len == 0)
        check_arena(list, program, faults);
    if (faults->len == 0)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "launch list of \"%s\": %s", sundog_program_get_name(program), faults->str);
    return false;
}
