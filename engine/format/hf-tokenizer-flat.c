/*
 * The table of tokens as a list. It is an object with a member a token, which the JSON reader refuses
 * at such a size, as names could be chosen to collide in its tables; as a list it needs none.
 */

#include "engine/format/hf-tokenizer-private.h"
#include "engine/format/json.h"

#include <string.h>

#define NAME "\"vocab\""

typedef struct {
    char *at;
    char *end;
    unsigned depth;
    bool flat[SUNDOG_JSON_MAX_DEPTH + 1]; /* [depth] whether this level is such a table */
} Walk;

static void
skip_space(Walk *walk)
{
    while (walk->at < walk->end && g_ascii_isspace(*walk->at))
        walk->at++;
}

/* Past a string, at whose first quote the walk stands. */
static void
skip_string(Walk *walk)
{
    for (walk->at++; walk->at < walk->end && *walk->at != '"'; walk->at++)
        if (*walk->at == '\\')
            walk->at++;
    walk->at = MIN(walk->at + 1, walk->end);
}

static void
enter(Walk *walk, bool flat)
{
    if (flat)
        *walk->at = '[';
    walk->at++;
    if (++walk->depth <= SUNDOG_JSON_MAX_DEPTH)
        walk->flat[walk->depth] = flat;
}

static void
leave(Walk *walk)
{
    if (walk->depth <= SUNDOG_JSON_MAX_DEPTH && walk->flat[walk->depth])
        *walk->at = ']';
    walk->at++;
    walk->depth -= walk->depth != 0;
}

/* A string; and where it is the table's name, the table's bracket behind it. */
static void
take_string(Walk *walk)
{
    const char *begin = walk->at;
    skip_string(walk);
    if ((size_t)(walk->at - begin) != strlen(NAME) || memcmp(begin, NAME, strlen(NAME)) != 0)
        return;
    skip_space(walk);
    if (walk->at == walk->end || *walk->at != ':' || walk->flat[walk->depth])
        return;
    walk->at++;
    skip_space(walk);
    if (walk->at < walk->end && *walk->at == '{')
        enter(walk, true);
}

char *
sundog_hf_dup_flat(const char *json, size_t n_bytes)
{
    char *copy = g_malloc(n_bytes + 1);
    memcpy(copy, json, n_bytes);
    copy[n_bytes] = '\0';
    Walk walk = {.at = copy, .end = copy + n_bytes};
    while (walk.at < walk.end && walk.depth <= SUNDOG_JSON_MAX_DEPTH) {
        if (*walk.at == '"') {
            take_string(&walk);
        } else if (*walk.at == '{' || *walk.at == '[') {
            enter(&walk, false);
        } else if (*walk.at == '}' || *walk.at == ']') {
            leave(&walk);
        } else {
            if (*walk.at == ':' && walk.flat[walk.depth])
                *walk.at = ',';
            walk.at++;
        }
    }
    return copy;
}
