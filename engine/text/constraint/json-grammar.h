#pragma once

/*
 * JSON's own rules for constraints, and its encoding of characters in strings. White space is where
 * models write it, and bounded: nothing, a space, or the end of a line and an indentation.
 * Source: RFC 8259. One thread.
 */

#include "engine/text/constraint/automaton-builder.h"

/* Rules, made when first asked for. SUNDOG_JSON_NO_RULE where not yet made. */
#define SUNDOG_JSON_NO_RULE UINT32_MAX
typedef struct {
    SundogAutomatonBuilder *builder;
    bool
        is_python; /* with Python's words for true, false and null; to be set before the first rule */
    uint32_t space;
    uint32_t character; /* one of a string */
    uint32_t string;
    uint32_t integer;
    uint32_t number;
    uint32_t value;
    uint32_t object;
    uint32_t array;
} SundogJsonGrammar;

void sundog_json_grammar_init(SundogJsonGrammar *json, SundogAutomatonBuilder *builder);

/* "true", "false" or "null" as it is written here. */
const char *sundog_json_grammar_get_word(const SundogJsonGrammar *json, const char *word);
/* Each returns its rule. */
uint32_t sundog_json_grammar_get_space(SundogJsonGrammar *json);
uint32_t sundog_json_grammar_get_character(SundogJsonGrammar *json);
uint32_t sundog_json_grammar_get_string(SundogJsonGrammar *json);
uint32_t sundog_json_grammar_get_integer(SundogJsonGrammar *json);
uint32_t sundog_json_grammar_get_number(SundogJsonGrammar *json);
uint32_t sundog_json_grammar_get_value(SundogJsonGrammar *json);
uint32_t sundog_json_grammar_get_object(SundogJsonGrammar *json);
uint32_t sundog_json_grammar_get_array(SundogJsonGrammar *json);

/* A comma or colon with its space; the state behind it. */
uint32_t sundog_json_grammar_add_mark(SundogJsonGrammar *json, uint32_t from, char mark);
/* The same before a closing bracket. */
uint32_t sundog_json_grammar_add_close(SundogJsonGrammar *json, uint32_t from, char bracket);
/* One or more runs of a rule between commas; the state behind them. */
uint32_t sundog_json_grammar_add_list(SundogJsonGrammar *json, uint32_t from, uint32_t rule);

/* Adds one character out of a range as a string holds it: as it is, or in JSON's shortest escape. */
void sundog_json_grammar_encode(SundogAutomatonBuilder *builder, uint32_t from, uint32_t low,
                                uint32_t high, uint32_t to);
