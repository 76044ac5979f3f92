/* Launch lists: building and looking at them. */

#include "engine/core/launch-list-private.h"

#include <string.h>

SundogLaunchList *
sundog_launch_list_new_empty(SundogExpressionPool *expressions)
{
    SundogLaunchList *list = g_new0(SundogLaunchList, 1);
    list->expressions = expressions;
    list->strings = g_string_chunk_new(1024);
    list->modules = g_array_new(FALSE, FALSE, sizeof(SundogLaunchModule));
    list->variants = g_array_new(FALSE, FALSE, sizeof(SundogLaunchVariant));
    list->launches = g_array_new(FALSE, FALSE, sizeof(SundogLaunch));
    list->fields = g_array_new(FALSE, FALSE, sizeof(SundogLaunchField));
    list->parameters = g_byte_array_new();
    return list;
}

SundogLaunchList *
sundog_launch_list_new(const SundogProgram *program)
{
    return sundog_launch_list_new_empty(
        sundog_expression_pool_copy(sundog_program_get_expressions(program)));
}

void
sundog_launch_list_free(SundogLaunchList *list)
{
    if (list == NULL)
        return;
    sundog_expression_pool_free(list->expressions);
    g_array_unref(list->modules);
    g_array_unref(list->variants);
    g_array_unref(list->launches);
    g_array_unref(list->fields);
    g_byte_array_unref(list->parameters);
    g_string_chunk_free(list->strings);
    g_free(list);
}

const SundogExpressionPool *
sundog_launch_list_get_expressions(const SundogLaunchList *list)
{
    return list->expressions;
}

SundogExpressionPool *
sundog_launch_list_edit_expressions(SundogLaunchList *list)
{
    return list->expressions;
}

void
sundog_launch_list_add_module(SundogLaunchList *list, const char *name, const uint8_t sha256[32])
{
    SundogLaunchModule module = {.name = g_string_chunk_insert_const(list->strings, name)};
    memcpy(module.sha256, sha256, sizeof module.sha256);
    g_array_append_val(list->modules, module);
}

void
sundog_launch_list_add_variant(SundogLaunchList *list, int64_t min_tokens, int64_t max_tokens,
                               SundogSteps steps)
{
    SundogLaunchVariant variant = {.min_tokens = min_tokens,
                                   .max_tokens = max_tokens,
                                   .steps = steps,
                                   .first_launch = list->launches->len};
    g_array_append_val(list->variants, variant);
}

void
sundog_launch_list_add_launch(SundogLaunchList *list, const SundogLaunch *launch,
                              const void *parameters, const SundogLaunchField *fields)
{
    SundogLaunch copy = *launch;
    g_assert(list->variants->len > 0);
    copy.module = g_string_chunk_insert_const(list->strings, launch->module);
    copy.entry = g_string_chunk_insert_const(list->strings, launch->entry);
    copy.parameters = list->parameters->len;
    copy.first_field = list->fields->len;
    g_byte_array_append(list->parameters, parameters, launch->n_parameter_bytes);
    g_array_append_vals(list->fields, fields, launch->n_fields);
    g_array_append_val(list->launches, copy);
    g_array_index(list->variants, SundogLaunchVariant, list->variants->len - 1).n_launches++;
}

uint32_t
sundog_launch_list_get_n_modules(const SundogLaunchList *list)
{
    return list->modules->len;
}

const SundogLaunchModule *
sundog_launch_list_get_module(const SundogLaunchList *list, uint32_t index)
{
    g_assert(index < list->modules->len);
    return &g_array_index(list->modules, SundogLaunchModule, index);
}

uint32_t
sundog_launch_list_get_n_variants(const SundogLaunchList *list)
{
    return list->variants->len;
}

const SundogLaunchVariant *
sundog_launch_list_get_variant(const SundogLaunchList *list, uint32_t index)
{
    g_assert(index < list->variants->len);
    return &g_array_index(list->variants, SundogLaunchVariant, index);
}

const SundogLaunchVariant *
sundog_launch_list_find_variant(const SundogLaunchList *list, int64_t n_tokens, SundogSteps steps)
{
    for (uint32_t i = 0; i < list->variants->len; i++) {
        const SundogLaunchVariant *variant = sundog_launch_list_get_variant(list, i);
        if (variant->steps == steps && n_tokens >= variant->min_tokens &&
            n_tokens <= variant->max_tokens)
            return variant;
    }
    return NULL;
}

uint32_t
sundog_launch_list_get_n_launches(const SundogLaunchList *list)
{
    return list->launches->len;
}

const SundogLaunch *
sundog_launch_list_get_launch(const SundogLaunchList *list, uint32_t index)
{
    g_assert(index < list->launches->len);
    return &g_array_index(list->launches, SundogLaunch, index);
}

const SundogLaunchField *
sundog_launch_list_get_fields(const SundogLaunchList *list, const SundogLaunch *launch)
{
    return &g_array_index(list->fields, SundogLaunchField, launch->first_field);
}

const uint8_t *
sundog_launch_list_get_parameters(const SundogLaunchList *list, const SundogLaunch *launch)
{
    return list->parameters->data + launch->parameters;
}

static void
extend(SundogLifetime *lifetime, const SundogLaunch *launch)
{
    uint32_t last = launch->first_operation + launch->n_operations - 1;
    lifetime->first =
        lifetime->is_used ? MIN(lifetime->first, launch->first_operation) : launch->first_operation;
    lifetime->last = lifetime->is_used ? MAX(lifetime->last, last) : last;
    lifetime->is_used = true;
}

SundogLifetime *
sundog_launch_list_dup_lifetimes(const SundogLaunchList *list, const SundogProgram *program)
{
    uint32_t n_buffers = sundog_program_get_n_buffers(program);
    SundogLifetime *lifetimes = g_new0(SundogLifetime, MAX(n_buffers, 1));
    for (uint32_t i = 0; i < list->launches->len; i++) {
        const SundogLaunch *launch = sundog_launch_list_get_launch(list, i);
        const SundogLaunchField *fields = sundog_launch_list_get_fields(list, launch);
        for (uint32_t f = 0; f < launch->n_fields; f++)
            if (sundog_launch_field_names_buffer(&fields[f]) && fields[f].buffer < n_buffers)
                extend(&lifetimes[fields[f].buffer], launch);
    }
    return lifetimes;
}
