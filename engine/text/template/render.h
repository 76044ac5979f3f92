#pragma once

/*
 * One rendering (or parsing) in progress: its memory, its limits and its first error.
 *
 * Everything that a rendering makes lies in one arena and goes with it, so that values need no counts
 * and hostile templates cannot leak. The error is sticky: a function that fails says so once and
 * returns any value; loops look at sundog_render_failed() and stop. One thread.
 */

#include "engine/text/template/template.h"

/* What one rendering may use: under a second of work, and a conversation of a million tokens still fits.
 * Published templates take about a hundred steps a message. */
#define SUNDOG_RENDER_MAX_STEPS 8000000u
#define SUNDOG_RENDER_MAX_MEMORY ((size_t)256 << 20)
#define SUNDOG_RENDER_MAX_STRING ((size_t)32 << 20)
#define SUNDOG_RENDER_MAX_ITEMS ((size_t)1 << 20)
#define SUNDOG_RENDER_MAX_DEPTH 2000u

typedef struct SundogScope SundogScope;
typedef struct SundogDict SundogDict;
typedef struct SundogStringBuilder SundogStringBuilder;

typedef struct {
    GPtrArray *chunks; /* of the arena, each from g_malloc */
    char *next;
    size_t n_left;
    size_t n_taken;
    uint64_t n_steps;
    unsigned depth;
    GError *error;

    /* While evaluating. */
    SundogScope *scope;
    SundogStringBuilder *output;
    const SundogDict *variables;
    int64_t now_us;
} SundogRender;

void sundog_render_init(SundogRender *render);
void sundog_render_clear(SundogRender *render);

/* Zeroed bytes, aligned to 16, that live as long as the rendering. Never NULL: past the limit it sets
 * the error and still gives what was asked, which each caller has bounded. */
void *sundog_render_take(SundogRender *render, size_t n_bytes);
#define sundog_render_take_array(render, type, n) \
    ((type *)sundog_render_take((render), sizeof(type) * (size_t)(n)))

/* Counts work; false once there was an error or too much of it. */
bool sundog_render_step(SundogRender *render, size_t n);
/* Enters one more level of recursion; leave is called also after a refusal. */
bool sundog_render_enter(SundogRender *render);
void sundog_render_leave(SundogRender *render);

bool sundog_render_failed(const SundogRender *render);
void sundog_render_fail(SundogRender *render, SundogTemplateError code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
