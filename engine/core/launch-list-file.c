/*
 * The binary form of a launch list, little-endian:
 *   "SDLL"       magic
 *   u32          version of this form, 0
 *   pool         expressions, as expression.c says
 *   u64 n        modules: n times string name, 32 bytes SHA-256
 *   u64 n        variants: n times u64 least and u64 most tokens, u8 steps, u32 launches
 *   u64 n        launches of all variants, in order: n times
 *                  string module, string entry, u32 first operation, u32 operations,
 *                  3 u32 expressions of the grid, u32 threads, u32 shared bytes, u8 edge, u8 waits,
 *                  u32 parameter bytes and these, u32 fields, then n times
 *                    u8 kind, u32 place, u32 buffer, u8 access, u8 all bytes,
 *                    u32 expression of the bytes, u32 expression of the value
 */

#include "engine/core/launch-list-private.h"
#include "engine/format/error.h"

#include <string.h>

static const char magic[4] = {'S', 'D', 'L', 'L'};
#define FORM_VERSION 0
#define MIN_MODULE_BYTES 36
#define MIN_VARIANT_BYTES 21
#define MIN_LAUNCH_BYTES 46
#define MAX_FIELDS 64

static void
write_field(const SundogLaunchField *field, SundogWriter *writer)
{
    sundog_writer_u8(writer, (uint8_t)field->kind);
    sundog_writer_u32(writer, field->at);
    sundog_writer_u32(writer, field->buffer);
    sundog_writer_u8(writer, (uint8_t)field->access);
    sundog_writer_u8(writer, field->all_bytes);
    sundog_writer_u32(writer, field->n_bytes);
    sundog_writer_u32(writer, field->value);
}

static void
write_launch(const SundogLaunchList *list, const SundogLaunch *launch, SundogWriter *writer)
{
    const SundogLaunchField *fields = sundog_launch_list_get_fields(list, launch);
    sundog_writer_string(writer, launch->module);
    sundog_writer_string(writer, launch->entry);
    sundog_writer_u32(writer, launch->first_operation);
    sundog_writer_u32(writer, launch->n_operations);
    for (int d = 0; d < 3; d++)
        sundog_writer_u32(writer, launch->grid[d]);
    sundog_writer_u32(writer, launch->n_threads);
    sundog_writer_u32(writer, launch->n_shared_bytes);
    sundog_writer_u8(writer, (uint8_t)launch->edge);
    sundog_writer_u8(writer, launch->waits);
    sundog_writer_u32(writer, launch->n_parameter_bytes);
    sundog_writer_bytes(writer, sundog_launch_list_get_parameters(list, launch),
                        launch->n_parameter_bytes);
    sundog_writer_u32(writer, launch->n_fields);
    for (uint32_t i = 0; i < launch->n_fields; i++)
        write_field(&fields[i], writer);
}

void
sundog_launch_list_write(const SundogLaunchList *list, SundogWriter *writer)
{
    sundog_writer_bytes(writer, magic, sizeof magic);
    sundog_writer_u32(writer, FORM_VERSION);
    sundog_expression_pool_write(list->expressions, writer);
    sundog_writer_u64(writer, list->modules->len);
    for (uint32_t i = 0; i < list->modules->len; i++) {
        const SundogLaunchModule *module = sundog_launch_list_get_module(list, i);
        sundog_writer_string(writer, module->name);
        sundog_writer_bytes(writer, module->sha256, sizeof module->sha256);
    }
    sundog_writer_u64(writer, list->variants->len);
    for (uint32_t i = 0; i < list->variants->len; i++) {
        const SundogLaunchVariant *variant = sundog_launch_list_get_variant(list, i);
        sundog_writer_u64(writer, (uint64_t)variant->min_tokens);
        sundog_writer_u64(writer, (uint64_t)variant->max_tokens);
        sundog_writer_u8(writer, (uint8_t)variant->steps);
        sundog_writer_u32(writer, variant->n_launches);
    }
    sundog_writer_u64(writer, list->launches->len);
    for (uint32_t i = 0; i < list->launches->len; i++)
        write_launch(list, sundog_launch_list_get_launch(list, i), writer);
}

static bool
read_flag(SundogReader *reader)
{
    uint8_t value = sundog_reader_u8(reader);
    if (value > 1)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "a flag is %u, not 0 or 1", value);
    return value != 0;
}

static SundogExpression
read_expression(const SundogLaunchList *list, SundogReader *reader)
{
    uint32_t expression = sundog_reader_u32(reader);
    uint32_t n = sundog_expression_pool_get_n(list->expressions);
    if (expression < n)
        return expression;
    sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "expression %u of %u", expression, n);
    return 0;
}

static uint32_t
read_number(SundogReader *reader, const char *what, uint32_t least, uint32_t most)
{
    uint32_t value = sundog_reader_u32(reader);
    if (sundog_reader_ok(reader) && (value < least || value > most))
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "%s is %u, not %u to %u", what,
                           value, least, most);
    return value;
}

static void
read_modules(SundogLaunchList *list, SundogReader *reader)
{
    uint64_t n = sundog_reader_count(reader, MIN_MODULE_BYTES);
    for (uint64_t i = 0; i < n && sundog_reader_ok(reader); i++) {
        g_autofree char *name = sundog_reader_dup_string(reader);
        const uint8_t *sha256 = sundog_reader_bytes(reader, 32);
        if (name != NULL && sha256 != NULL)
            sundog_launch_list_add_module(list, name, sha256);
    }
}

static SundogSteps
read_steps(SundogReader *reader)
{
    uint8_t value = sundog_reader_u8(reader);
    if (value >= SUNDOG_N_STEPS)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "a variant is for steps of kind %u, not 0 to %d", value,
                           SUNDOG_N_STEPS - 1);
    return (SundogSteps)value;
}

static void
read_variants(SundogLaunchList *list, SundogReader *reader)
{
    uint64_t n = sundog_reader_count(reader, MIN_VARIANT_BYTES);
    for (uint64_t i = 0; i < n && sundog_reader_ok(reader); i++) {
        uint64_t least = sundog_reader_u64(reader), most = sundog_reader_u64(reader);
        SundogLaunchVariant variant = {.min_tokens = (int64_t)MIN(least, INT32_MAX),
                                       .max_tokens = (int64_t)MIN(most, INT32_MAX),
                                       .steps = read_steps(reader),
                                       .n_launches = sundog_reader_u32(reader)};
        g_array_append_val(list->variants, variant);
    }
}

static SundogLaunchField
read_field(const SundogLaunchList *list, const SundogLaunch *launch, SundogReader *reader)
{
    SundogLaunchField field = {.kind = (SundogFieldKind)sundog_reader_u8(reader)};
    field.at = sundog_reader_u32(reader);
    field.buffer = sundog_reader_u32(reader);
    field.access = (SundogAccess)sundog_reader_u8(reader);
    field.all_bytes = read_flag(reader);
    field.n_bytes = read_expression(list, reader);
    field.value = read_expression(list, reader);
    bool is_map = field.kind == SUNDOG_FIELD_TENSOR_MAP;
    uint32_t size = field.kind == SUNDOG_FIELD_EXPRESSION ? 4
                    : is_map                              ? SUNDOG_LAUNCH_MAP_BYTES
                                                          : 8;
    if (field.kind < SUNDOG_FIELD_BUFFER || field.kind > SUNDOG_FIELD_TENSOR_MAP)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "a field of kind %d", field.kind);
    else if (field.at % (is_map ? 64 : size) != 0 || size > launch->n_parameter_bytes ||
             field.at > launch->n_parameter_bytes - size)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "a field at byte %u of %u parameter bytes", field.at,
                           launch->n_parameter_bytes);
    else if (field.access < SUNDOG_ACCESS_READ || field.access > SUNDOG_ACCESS_UPDATE)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "an access of %d", field.access);
    return field;
}

static SundogEdge
read_edge(SundogReader *reader)
{
    uint8_t edge = sundog_reader_u8(reader);
    if (edge != SUNDOG_EDGE_ORDINARY && edge != SUNDOG_EDGE_PROGRAMMATIC)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "an edge of kind %u", edge);
    return (SundogEdge)edge;
}

static void
read_launch(SundogLaunchList *list, SundogReader *reader)
{
    g_autofree char *module = sundog_reader_dup_string(reader);
    g_autofree char *entry = sundog_reader_dup_string(reader);
    SundogLaunch launch = {.module = module, .entry = entry};
    launch.first_operation = sundog_reader_u32(reader);
    launch.n_operations = sundog_reader_u32(reader);
    for (int d = 0; d < 3; d++)
        launch.grid[d] = read_expression(list, reader);
    launch.n_threads = read_number(reader, "a block", 1, SUNDOG_LAUNCH_MAX_THREADS);
    launch.n_shared_bytes = sundog_reader_u32(reader);
    launch.edge = read_edge(reader);
    launch.waits = read_flag(reader);
    launch.n_parameter_bytes =
        read_number(reader, "the size of parameters", 0, SUNDOG_LAUNCH_MAX_PARAMETER_BYTES);
    const uint8_t *parameters = sundog_reader_bytes(reader, launch.n_parameter_bytes);
    launch.n_fields = read_number(reader, "the number of fields", 0, MAX_FIELDS);
    SundogLaunchField fields[MAX_FIELDS];
    for (uint32_t i = 0; i < launch.n_fields && sundog_reader_ok(reader); i++)
        fields[i] = read_field(list, &launch, reader);
    if (!sundog_reader_ok(reader))
        return;
    launch.module = g_string_chunk_insert_const(list->strings, module);
    launch.entry = g_string_chunk_insert_const(list->strings, entry);
    launch.parameters = list->parameters->len;
    launch.first_field = list->fields->len;
    g_byte_array_append(list->parameters, parameters, launch.n_parameter_bytes);
    g_array_append_vals(list->fields, fields, launch.n_fields);
    g_array_append_val(list->launches, launch);
}

/* Gives each variant its launches, which stand in the order of variants. */
static void
share_launches(SundogLaunchList *list, SundogReader *reader)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < list->variants->len; i++) {
        SundogLaunchVariant *variant = &g_array_index(list->variants, SundogLaunchVariant, i);
        variant->first_launch = (uint32_t)n;
        n += variant->n_launches;
        if (n > list->launches->len)
            break;
    }
    if (sundog_reader_ok(reader) && n != list->launches->len)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "variants name %" G_GUINT64_FORMAT " launches, the list holds %u", n,
                           list->launches->len);
}

SundogLaunchList *
sundog_launch_list_read(SundogReader *reader)
{
    const uint8_t *found = sundog_reader_bytes(reader, sizeof magic);
    if (found != NULL && memcmp(found, magic, sizeof magic) != 0)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "not a launch list");
    uint32_t version = sundog_reader_u32(reader);
    if (sundog_reader_ok(reader) && version != FORM_VERSION)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "launch lists of version %u; this engine reads %u: prepare again",
                           version, FORM_VERSION);
    SundogExpressionPool *pool =
        sundog_reader_ok(reader) ? sundog_expression_pool_read(reader) : NULL;
    if (pool == NULL)
        return NULL;
    g_autoptr(SundogLaunchList) list = sundog_launch_list_new_empty(pool);
    read_modules(list, reader);
    read_variants(list, reader);
    uint64_t n = sundog_reader_count(reader, MIN_LAUNCH_BYTES);
    for (uint64_t i = 0; i < n && sundog_reader_ok(reader); i++)
        read_launch(list, reader);
    share_launches(list, reader);
    return sundog_reader_ok(reader) ? g_steal_pointer(&list) : NULL;
}
