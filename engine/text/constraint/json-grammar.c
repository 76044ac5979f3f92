/* JSON as rules. */

#include "engine/text/constraint/json-grammar.h"

#include <string.h>

#define MAX_INDENTATION 32
/* Digits that a model may write in a row: no number that is meant has more. */
#define MAX_DIGITS 18
#define MAX_EXPONENT_DIGITS 2
#define LAST_CODE_POINT 0x10FFFFu

void
sundog_json_grammar_init(SundogJsonGrammar *json, SundogAutomatonBuilder *builder)
{
    memset(json, 0xFF, sizeof *json);
    json->builder = builder;
    json->is_python = false;
}

/* Makes *rule a state, unless it is one. */
static bool
begin_rule(SundogJsonGrammar *json, uint32_t *rule)
{
    if (*rule != SUNDOG_JSON_NO_RULE)
        return false;
    *rule = sundog_automaton_builder_add_state(json->builder);
    return true;
}

static uint32_t
add_byte(SundogJsonGrammar *json, uint32_t from, char byte)
{
    return sundog_automaton_builder_add_text(json->builder, from, &byte, 1);
}

uint32_t
sundog_json_grammar_get_space(SundogJsonGrammar *json)
{
    SundogAutomatonBuilder *builder = json->builder;
    if (!begin_rule(json, &json->space))
        return json->space;
    sundog_automaton_builder_accept(builder, json->space);
    sundog_automaton_builder_accept(builder, add_byte(json, json->space, ' '));
    uint32_t state = add_byte(json, json->space, '\n');
    for (int i = 0; i < MAX_INDENTATION; i++) {
        sundog_automaton_builder_accept(builder, state);
        uint32_t next = sundog_automaton_builder_add_state(builder);
        sundog_automaton_builder_add_bytes(builder, state, ' ', ' ', next);
        sundog_automaton_builder_add_bytes(builder, state, '\t', '\t', next);
        state = next;
    }
    sundog_automaton_builder_accept(builder, state);
    return json->space;
}

static uint32_t
add_space(SundogJsonGrammar *json, uint32_t from)
{
    return sundog_automaton_builder_add_call(json->builder, from,
                                             sundog_json_grammar_get_space(json));
}

uint32_t
sundog_json_grammar_add_mark(SundogJsonGrammar *json, uint32_t from, char mark)
{
    uint32_t behind = add_byte(json, from, mark);
    if (mark != ':')
        return add_space(json, behind);
    /* A value stands in its key's line. */
    uint32_t to = add_byte(json, behind, ' ');
    sundog_automaton_builder_add_empty(json->builder, behind, to);
    return to;
}

uint32_t
sundog_json_grammar_add_close(SundogJsonGrammar *json, uint32_t from, char bracket)
{
    return add_byte(json, add_space(json, from), bracket);
}

/* Strings */

static void
add_hex(SundogJsonGrammar *json, uint32_t from, char first, char last, uint32_t to)
{
    sundog_automaton_builder_add_bytes(json->builder, from, (uint8_t)first, (uint8_t)last, to);
}

static void
add_any_hex(SundogJsonGrammar *json, uint32_t from, uint32_t to)
{
    add_hex(json, from, '0', '9', to);
    add_hex(json, from, 'A', 'F', to);
    add_hex(json, from, 'a', 'f', to);
}

/* \uXXXX but for surrogates: a character beyond 16 bits is written as it is. */
static void
add_unicode_escape(SundogJsonGrammar *json, uint32_t from, uint32_t to)
{
    SundogAutomatonBuilder *builder = json->builder;
    uint32_t first = add_byte(json, from, 'u');
    uint32_t second = sundog_automaton_builder_add_state(builder);
    uint32_t third = sundog_automaton_builder_add_state(builder);
    uint32_t fourth = sundog_automaton_builder_add_state(builder);
    add_hex(json, first, '0', '9', second);
    for (const char *letter = "abcefABCEF"; *letter != '\0'; letter++)
        add_hex(json, first, *letter, *letter, second);
    uint32_t behind_d = sundog_automaton_builder_add_state(builder);
    add_hex(json, first, 'd', 'd', behind_d);
    add_hex(json, first, 'D', 'D', behind_d);
    add_hex(json, behind_d, '0', '7', third);
    add_any_hex(json, second, third);
    add_any_hex(json, third, fourth);
    add_any_hex(json, fourth, to);
}

static void
add_string_character(SundogJsonGrammar *json, uint32_t from, uint32_t to)
{
    SundogAutomatonBuilder *builder = json->builder;
    sundog_automaton_builder_add_characters(builder, from, ' ', '!', to);
    sundog_automaton_builder_add_characters(builder, from, '#', '[', to);
    sundog_automaton_builder_add_characters(builder, from, ']', LAST_CODE_POINT, to);
    uint32_t escape = add_byte(json, from, '\\');
    for (const char *letter = "\"\\/bfnrt"; *letter != '\0'; letter++)
        sundog_automaton_builder_add_bytes(builder, escape, (uint8_t)*letter, (uint8_t)*letter, to);
    add_unicode_escape(json, escape, to);
}

uint32_t
sundog_json_grammar_get_character(SundogJsonGrammar *json)
{
    if (begin_rule(json, &json->character)) {
        uint32_t end = sundog_automaton_builder_add_state(json->builder);
        sundog_automaton_builder_accept(json->builder, end);
        add_string_character(json, json->character, end);
    }
    return json->character;
}

uint32_t
sundog_json_grammar_get_string(SundogJsonGrammar *json)
{
    if (begin_rule(json, &json->string)) {
        uint32_t loop = add_byte(json, json->string, '"');
        add_string_character(json, loop, loop);
        sundog_automaton_builder_accept(json->builder, add_byte(json, loop, '"'));
    }
    return json->string;
}

static void
add_escaped(SundogAutomatonBuilder *builder, uint32_t from, uint32_t character, uint32_t to)
{
    static const char letters[] = "btnfr\"\\", characters[] = "\b\t\n\f\r\"\\";
    const char *known = character != 0 ? strchr(characters, (int)character) : NULL;
    char text[8];
    if (known != NULL)
        g_snprintf(text, sizeof text, "\\%c", letters[known - characters]);
    else
        g_snprintf(text, sizeof text, "\\u%04x", character);
    uint32_t end = sundog_automaton_builder_add_text(builder, from, text, strlen(text));
    sundog_automaton_builder_add_empty(builder, end, to);
}

void
sundog_json_grammar_encode(SundogAutomatonBuilder *builder, uint32_t from, uint32_t low,
                           uint32_t high, uint32_t to)
{
    /* The ranges between the characters that are escaped. */
    static const uint32_t begins[] = {' ', '#', ']'}, ends[] = {'!', '[', LAST_CODE_POINT};
    for (uint32_t i = low; i < ' ' && i <= high; i++)
        add_escaped(builder, from, i, to);
    for (size_t i = 0; i < G_N_ELEMENTS(begins); i++)
        if (MAX(low, begins[i]) <= MIN(high, ends[i]))
            sundog_automaton_builder_add_characters(builder, from, MAX(low, begins[i]),
                                                    MIN(high, ends[i]), to);
    if (low <= '"' && high >= '"')
        add_escaped(builder, from, '"', to);
    if (low <= '\\' && high >= '\\')
        add_escaped(builder, from, '\\', to);
}

/* Numbers */

/* Digits, `least` to `most`, all of which lead to `to` once there are enough. */
static void
add_digits(SundogJsonGrammar *json, uint32_t from, int least, int most, uint32_t to)
{
    for (int i = 0; i < most; i++) {
        uint32_t next = sundog_automaton_builder_add_state(json->builder);
        sundog_automaton_builder_add_bytes(json->builder, from, '0', '9', next);
        if (i + 1 >= least)
            sundog_automaton_builder_add_empty(json->builder, next, to);
        from = next;
    }
}

/* An integer with its sign; the state behind it. */
static uint32_t
add_integer(SundogJsonGrammar *json, uint32_t from)
{
    SundogAutomatonBuilder *builder = json->builder;
    uint32_t to = sundog_automaton_builder_add_state(builder);
    uint32_t unsigned_part = sundog_automaton_builder_add_state(builder);
    uint32_t more = sundog_automaton_builder_add_state(builder);
    sundog_automaton_builder_add_empty(builder, from, unsigned_part);
    sundog_automaton_builder_add_bytes(builder, from, '-', '-', unsigned_part);
    sundog_automaton_builder_add_bytes(builder, unsigned_part, '0', '0', to);
    sundog_automaton_builder_add_bytes(builder, unsigned_part, '1', '9', more);
    sundog_automaton_builder_add_empty(builder, more, to);
    add_digits(json, more, 1, MAX_DIGITS - 1, to);
    return to;
}

uint32_t
sundog_json_grammar_get_integer(SundogJsonGrammar *json)
{
    if (begin_rule(json, &json->integer))
        sundog_automaton_builder_accept(json->builder, add_integer(json, json->integer));
    return json->integer;
}

uint32_t
sundog_json_grammar_get_number(SundogJsonGrammar *json)
{
    SundogAutomatonBuilder *builder = json->builder;
    if (!begin_rule(json, &json->number))
        return json->number;
    uint32_t whole = add_integer(json, json->number);
    uint32_t fraction = sundog_automaton_builder_add_state(builder);
    uint32_t end = sundog_automaton_builder_add_state(builder);
    sundog_automaton_builder_add_empty(builder, whole, fraction);
    add_digits(json, add_byte(json, whole, '.'), 1, MAX_DIGITS, fraction);
    uint32_t exponent = sundog_automaton_builder_add_state(builder);
    sundog_automaton_builder_add_bytes(builder, fraction, 'E', 'E', exponent);
    sundog_automaton_builder_add_bytes(builder, fraction, 'e', 'e', exponent);
    uint32_t power = sundog_automaton_builder_add_state(builder);
    sundog_automaton_builder_add_empty(builder, exponent, power);
    sundog_automaton_builder_add_bytes(builder, exponent, '+', '+', power);
    sundog_automaton_builder_add_bytes(builder, exponent, '-', '-', power);
    add_digits(json, power, 1, MAX_EXPONENT_DIGITS, end);
    sundog_automaton_builder_add_empty(builder, fraction, end);
    sundog_automaton_builder_accept(builder, end);
    return json->number;
}

/* Values */

uint32_t
sundog_json_grammar_add_list(SundogJsonGrammar *json, uint32_t from, uint32_t rule)
{
    uint32_t begin = sundog_automaton_builder_add_state(json->builder);
    sundog_automaton_builder_add_empty(json->builder, from, begin);
    uint32_t end = sundog_automaton_builder_add_call(json->builder, begin, rule);
    sundog_automaton_builder_add_empty(json->builder, sundog_json_grammar_add_mark(json, end, ','),
                                       begin);
    return end;
}

static uint32_t
get_member(SundogJsonGrammar *json)
{
    uint32_t member = sundog_automaton_builder_add_state(json->builder);
    uint32_t key = sundog_automaton_builder_add_call(json->builder, member,
                                                     sundog_json_grammar_get_string(json));
    uint32_t colon = sundog_json_grammar_add_mark(json, key, ':');
    sundog_automaton_builder_accept(
        json->builder, sundog_automaton_builder_add_call(json->builder, colon,
                                                         sundog_json_grammar_get_value(json)));
    return member;
}

/* Open bracket, a list of the rule or none, close bracket. */
static void
add_bracketed(SundogJsonGrammar *json, uint32_t from, const char *brackets, uint32_t rule)
{
    uint32_t open = add_byte(json, from, brackets[0]);
    uint32_t close = sundog_automaton_builder_add_state(json->builder);
    uint32_t list = sundog_json_grammar_add_list(json, add_space(json, open), rule);
    sundog_automaton_builder_add_empty(json->builder, open, close);
    sundog_automaton_builder_add_empty(json->builder, list, close);
    sundog_automaton_builder_accept(json->builder,
                                    sundog_json_grammar_add_close(json, close, brackets[1]));
}

uint32_t
sundog_json_grammar_get_object(SundogJsonGrammar *json)
{
    if (begin_rule(json, &json->object))
        add_bracketed(json, json->object, "{}", get_member(json));
    return json->object;
}

uint32_t
sundog_json_grammar_get_array(SundogJsonGrammar *json)
{
    if (begin_rule(json, &json->array))
        add_bracketed(json, json->array, "[]", sundog_json_grammar_get_value(json));
    return json->array;
}

const char *
sundog_json_grammar_get_word(const SundogJsonGrammar *json, const char *word)
{
    if (!json->is_python)
        return word;
    return *word == 't' ? "True" : *word == 'f' ? "False" : "None";
}

uint32_t
sundog_json_grammar_get_value(SundogJsonGrammar *json)
{
    const char *const words[] = {sundog_json_grammar_get_word(json, "true"),
                                 sundog_json_grammar_get_word(json, "false"),
                                 sundog_json_grammar_get_word(json, "null")};
    SundogAutomatonBuilder *builder = json->builder;
    if (!begin_rule(json, &json->value))
        return json->value;
    const uint32_t rules[] = {
        sundog_json_grammar_get_string(json), sundog_json_grammar_get_number(json),
        sundog_json_grammar_get_object(json), sundog_json_grammar_get_array(json)};
    for (size_t i = 0; i < G_N_ELEMENTS(rules); i++)
        sundog_automaton_builder_accept(
            builder, sundog_automaton_builder_add_call(builder, json->value, rules[i]));
    sundog_automaton_builder_accept(builder, sundog_automaton_builder_add_choice(
                                                 builder, json->value, words, G_N_ELEMENTS(words)));
    return json->value;
}
