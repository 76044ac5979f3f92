/* A source over a GGUF file. */

#include "engine/model/source.h"

#include <string.h>

/* Longer texts are not shown to people. */
#define MAX_LABEL_BYTES 256

struct SundogSource {
    const SundogGguf *gguf;
    const char *architecture; /* borrowed from the file */
};

static const char *
get_text(const SundogGguf *gguf, const char *key)
{
    size_t n_bytes;
    const char *text = sundog_gguf_get_string(gguf, key, &n_bytes);
    return text != NULL && n_bytes > 0 && g_utf8_validate_len(text, n_bytes, NULL) ? text : NULL;
}

/* A text to be shown, on terminals too: short and without control characters, else NULL. */
static const char *
get_label(const SundogSource *source, const char *key)
{
    const char *text = get_text(source->gguf, key);
    for (const char *c = text; text != NULL && *c != '\0'; c++) {
        if (g_ascii_iscntrl(*c) || c - text == MAX_LABEL_BYTES)
            return NULL;
    }
    return text;
}

SundogSource *
sundog_source_new_for_gguf(const SundogGguf *gguf)
{
    SundogSource *source = g_new0(SundogSource, 1);
    source->gguf = gguf;
    source->architecture = get_text(gguf, "general.architecture");
    return source;
}

void
sundog_source_free(SundogSource *source)
{
    g_free(source);
}

bool
sundog_source_is_gguf(const SundogSource *source)
{
    return source->gguf != NULL;
}

const char *
sundog_source_get_architecture(const SundogSource *source)
{
    return source->architecture;
}

char *
sundog_source_dup_key(const SundogSource *source, const char *name)
{
    return g_strconcat(source->architecture, ".", name, NULL);
}

bool
sundog_source_has(const SundogSource *source, const char *name)
{
    g_autofree char *key = sundog_source_dup_key(source, name);
    return sundog_gguf_has(source->gguf, key);
}

bool
sundog_source_get_uint(const SundogSource *source, const char *name, uint64_t *value)
{
    g_autofree char *key = sundog_source_dup_key(source, name);
    return sundog_gguf_get_uint(source->gguf, key, value);
}

bool
sundog_source_get_float(const SundogSource *source, const char *name, double *value)
{
    g_autofree char *key = sundog_source_dup_key(source, name);
    return sundog_gguf_get_float(source->gguf, key, value);
}

bool
sundog_source_get_bool(const SundogSource *source, const char *name, bool *value)
{
    g_autofree char *key = sundog_source_dup_key(source, name);
    return sundog_gguf_get_bool(source->gguf, key, value);
}

const char *
sundog_source_get_text(const SundogSource *source, const char *name)
{
    g_autofree char *key = sundog_source_dup_key(source, name);
    return get_text(source->gguf, key);
}

uint64_t
sundog_source_get_array_length(const SundogSource *source, const char *name)
{
    g_autofree char *key = sundog_source_dup_key(source, name);
    return sundog_gguf_get_array_length(source->gguf, key);
}

bool
sundog_source_get_array_number(const SundogSource *source, const char *name, uint64_t index,
                               double *value)
{
    g_autofree char *key = sundog_source_dup_key(source, name);
    return sundog_gguf_get_array_number(source->gguf, key, index, value);
}

const char *
sundog_source_get_title(const SundogSource *source)
{
    return get_label(source, "general.name");
}

const char *
sundog_source_get_licence(const SundogSource *source)
{
    return get_label(source, "general.license");
}

static void
describe(const SundogGgufTensor *found, SundogSourceTensor *tensor)
{
    *tensor = (SundogSourceTensor){
        .name = found->name,
        .own_name = found->name,
        .type = found->type,
        .n_bytes = found->n_bytes,
        .data = found->data,
    };
    memcpy(tensor->shape, found->shape, sizeof tensor->shape);
}

size_t
sundog_source_get_n_tensors(const SundogSource *source)
{
    return sundog_gguf_get_n_tensors(source->gguf);
}

void
sundog_source_get_tensor(const SundogSource *source, size_t index, SundogSourceTensor *tensor)
{
    describe(sundog_gguf_get_tensor(source->gguf, index), tensor);
}

bool
sundog_source_find_tensor(const SundogSource *source, const char *name, SundogSourceTensor *tensor)
{
    const SundogGgufTensor *found = sundog_gguf_find_tensor(source->gguf, name);
    if (found != NULL)
        describe(found, tensor);
    return found != NULL;
}
