/* Programs for people: a table, and a graph for Graphviz. */

#include "engine/core/program.h"

static const char *
role_name(SundogBufferRole role)
{
    switch (role) {
    case SUNDOG_BUFFER_INPUT:
        return "input";
    case SUNDOG_BUFFER_OUTPUT:
        return "output";
    case SUNDOG_BUFFER_WEIGHT:
        return "weight";
    case SUNDOG_BUFFER_STATE:
        return "state";
    case SUNDOG_BUFFER_TEMPORARY:
        return "temporary";
    }
    return "unknown";
}

static char *
shape_text(const SundogProgram *program, const SundogBuffer *buffer)
{
    GString *text = g_string_new("[");
    for (uint32_t d = 0; d < buffer->rank; d++) {
        g_autofree char *size =
            sundog_expression_print(sundog_program_get_expressions(program), buffer->shape[d]);
        g_string_append_printf(text, "%s%s", d > 0 ? ", " : "", size);
    }
    g_string_append_c(text, ']');
    return g_string_free(text, FALSE);
}

static const char *
type_text(const SundogBuffer *buffer)
{
    return buffer->dtype == SUNDOG_DTYPE_WEIGHT && buffer->layout != 0
               ? sundog_layout_name(buffer->layout)
               : sundog_dtype_name(buffer->dtype);
}

static void
print_bounds(const SundogProgram *program, GString *text)
{
    const SundogShape *bounds = sundog_program_get_bounds(program);
    g_string_append(text, "bounds:");
    for (int i = 0; i < SUNDOG_N_VARIABLES; i++)
        g_string_append_printf(text, " %s %" G_GINT64_FORMAT,
                               sundog_variable_name((SundogVariable)i), bounds->values[i]);
    g_string_append_c(text, '\n');
}

static void
print_parameters(const SundogOperation *operation, GString *text)
{
    const SundogParameterInfo *parameters = sundog_operations[operation->kind].parameters;
    for (int p = 0; parameters[p].name != NULL; p++) {
        if (parameters[p].is_float)
            g_string_append_printf(text, " %s=%g", parameters[p].name, operation->parameters[p].f);
        else
            g_string_append_printf(text, " %s=%" G_GINT64_FORMAT, parameters[p].name,
                                   operation->parameters[p].i);
    }
}

static void
print_operation(const SundogProgram *program, uint32_t index, GString *text)
{
    const SundogOperation *operation = sundog_program_get_operation(program, index);
    const SundogOperationInfo *info = &sundog_operations[operation->kind];
    g_string_append_printf(text, "%5u  %-14s", index, info->name);
    for (int a = 0; info->arguments[a].name != NULL; a++)
        if (operation->arguments[a] < sundog_program_get_n_buffers(program))
            g_string_append_printf(
                text, " %s=%s", info->arguments[a].name,
                sundog_program_get_buffer(program, operation->arguments[a])->name);
    print_parameters(operation, text);
    g_string_append_c(text, '\n');
}

static void
print_buffer(const SundogProgram *program, SundogBufferId id, const SundogLifetime *lifetime,
             GString *text)
{
    const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
    g_autofree char *shape = shape_text(program, buffer);
    uint64_t n_bytes = sundog_program_buffer_bytes(program, id, sundog_program_get_bounds(program));
    g_string_append_printf(text, "%-9s %-32s %-13s %-34s %12" G_GUINT64_FORMAT,
                           role_name(buffer->role), buffer->name, type_text(buffer), shape,
                           n_bytes);
    if (buffer->role == SUNDOG_BUFFER_TEMPORARY && lifetime->is_used)
        g_string_append_printf(text, "  at %" G_GUINT64_FORMAT ", operations %u to %u",
                               buffer->offset, lifetime->first, lifetime->last);
    g_string_append_c(text, '\n');
}

char *
sundog_program_print(const SundogProgram *program)
{
    g_autofree SundogLifetime *lifetimes = sundog_program_dup_lifetimes(program);
    GString *text = g_string_new(NULL);
    g_string_append_printf(
        text, "program %s: %u operations, %u buffers, arena of %" G_GUINT64_FORMAT " bytes\n",
        sundog_program_get_name(program), sundog_program_get_n_operations(program),
        sundog_program_get_n_buffers(program), sundog_program_get_arena_bytes(program));
    print_bounds(program, text);
    g_string_append(text, "\noperations\n");
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++)
        print_operation(program, i, text);
    g_string_append(text, "\nbuffers, with bytes at the bounds\n");
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++)
        print_buffer(program, id, &lifetimes[id], text);
    return g_string_free(text, FALSE);
}

/* Appends a quoted Graphviz string. */
static void
append_quoted(GString *text, const char *value)
{
    g_string_append_c(text, '"');
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            g_string_append_c(text, '\\');
        g_string_append_c(text, *c);
    }
    g_string_append_c(text, '"');
}

/* An edge from the last writer of a buffer, or from the buffer itself where it comes from outside. */
static void
dot_edge(const SundogProgram *program, SundogBufferId id, const uint32_t *writers, uint32_t reader,
         GString *text)
{
    const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
    if (buffer->role == SUNDOG_BUFFER_WEIGHT)
        return;
    g_string_append(text, "  ");
    if (writers[id] != UINT32_MAX)
        g_string_append_printf(text, "o%u", writers[id]);
    else
        append_quoted(text, buffer->name);
    g_string_append_printf(text, " -> o%u [label=", reader);
    append_quoted(text, buffer->name);
    g_string_append(text, "];\n");
}

static void
dot_operation(const SundogProgram *program, uint32_t index, uint32_t *writers, GString *text)
{
    const SundogOperation *operation = sundog_program_get_operation(program, index);
    const SundogArgumentInfo *arguments = sundog_operations[operation->kind].arguments;
    g_string_append_printf(text, "  o%u [shape=box, label=\"%u %s\"];\n", index, index,
                           sundog_operations[operation->kind].name);
    for (int a = 0; arguments[a].name != NULL; a++)
        if (operation->arguments[a] < sundog_program_get_n_buffers(program) &&
            (arguments[a].access & SUNDOG_ACCESS_READ) != 0)
            dot_edge(program, operation->arguments[a], writers, index, text);
    for (int a = 0; arguments[a].name != NULL; a++)
        if (operation->arguments[a] < sundog_program_get_n_buffers(program) &&
            (arguments[a].access & SUNDOG_ACCESS_WRITE) != 0)
            writers[operation->arguments[a]] = index;
}

char *
sundog_program_print_dot(const SundogProgram *program)
{
    uint32_t n_buffers = sundog_program_get_n_buffers(program);
    g_autofree uint32_t *writers = g_new(uint32_t, MAX(n_buffers, 1));
    GString *text = g_string_new("digraph ");
    append_quoted(text, sundog_program_get_name(program));
    g_string_append(text, " {\n");
    for (SundogBufferId id = 0; id < n_buffers; id++)
        writers[id] = UINT32_MAX;
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++)
        dot_operation(program, i, writers, text);
    for (SundogBufferId id = 0; id < n_buffers; id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        if (buffer->role != SUNDOG_BUFFER_OUTPUT || writers[id] == UINT32_MAX)
            continue;
        g_string_append_printf(text, "  o%u -> ", writers[id]);
        append_quoted(text, buffer->name);
        g_string_append(text, ";\n");
    }
    g_string_append(text, "}\n");
    return g_string_free(text, FALSE);
}
