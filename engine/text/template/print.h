#pragma once

/* Values as text: Python's str(), repr() and json.dumps(). */

#include "engine/text/template/value.h"

/* str(): a string is itself. */
const SundogString *sundog_value_print(SundogRender *render, SundogValue value);
void sundog_value_repr(SundogStringBuilder *builder, SundogValue value);
/* repr() of a text for an error's message; owned by the caller. */
char *sundog_value_dup_repr(SundogRender *render, SundogValue value);
/* The shortest decimal that reads back as the same number, as Python writes it. out: 40 bytes. */
void sundog_float_print(double number, char *out);

typedef struct {
    bool ensure_ascii;
    bool sort_keys;
    const SundogString *indent; /* one level's, or NULL for one line */
    const SundogString *item_separator;
    const SundogString *key_separator;
} SundogJsonStyle;

/* Punctuation counts as no one's own text: only what was the template's in the value stays so. */
const SundogString *sundog_value_to_json(SundogRender *render, SundogValue value,
                                         const SundogJsonStyle *style);
