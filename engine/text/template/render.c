/* The memory, limits and first error of one rendering. */

#include "engine/text/template/render.h"

#include <stdarg.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 << 10)
#define ALIGNMENT 16u

G_DEFINE_QUARK(sundog - template - error - quark, sundog_template_error)

void
sundog_render_init(SundogRender *render)
{
    memset(render, 0, sizeof *render);
    render->chunks = g_ptr_array_new_with_free_func(g_free);
}

void
sundog_render_clear(SundogRender *render)
{
    g_clear_pointer(&render->chunks, g_ptr_array_unref);
    g_clear_error(&render->error);
}

/* A request of a chunk's size or more gets one of its own, and the open chunk stays open. */
static void *
take_alone(SundogRender *render, size_t n_bytes)
{
    void *chunk = g_malloc0(n_bytes);
    g_ptr_array_add(render->chunks, chunk);
    return chunk;
}

void *
sundog_render_take(SundogRender *render, size_t n_bytes)
{
    n_bytes = (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    render->n_taken += n_bytes;
    if (render->n_taken > SUNDOG_RENDER_MAX_MEMORY)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_LIMIT,
                           "The template needs more than %zu MiB of memory",
                           SUNDOG_RENDER_MAX_MEMORY >> 20);
    if (n_bytes >= CHUNK_BYTES)
        return take_alone(render, n_bytes);
    if (n_bytes > render->n_left) {
        render->next = take_alone(render, CHUNK_BYTES);
        render->n_left = CHUNK_BYTES;
    }
    void *memory = render->next;
    render->next += n_bytes;
    render->n_left -= n_bytes;
    return memory;
}

bool
sundog_render_step(SundogRender *render, size_t n)
{
    render->n_steps += n;
    if (render->n_steps > SUNDOG_RENDER_MAX_STEPS)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_LIMIT,
                           "The template takes more than %u steps", SUNDOG_RENDER_MAX_STEPS);
    return render->error == NULL;
}

bool
sundog_render_enter(SundogRender *render)
{
    if (++render->depth > SUNDOG_RENDER_MAX_DEPTH)
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_LIMIT,
                           "The template or its variables nest deeper than %u levels",
                           SUNDOG_RENDER_MAX_DEPTH);
    return sundog_render_step(render, 1);
}

void
sundog_render_leave(SundogRender *render)
{
    render->depth--;
}

bool
sundog_render_failed(const SundogRender *render)
{
    return render->error != NULL;
}

void
sundog_render_fail(SundogRender *render, SundogTemplateError code, const char *format, ...)
{
    if (render->error != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    render->error = g_error_new_valist(SUNDOG_TEMPLATE_ERROR, (int)code, format, arguments);
    va_end(arguments);
}
