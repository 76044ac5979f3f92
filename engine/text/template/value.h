#pragma once

/*
 * The values of a template: Python's, as far as templates see them. Small values are held, large ones
 * lie in the rendering's arena; dicts are immutable once made, as the sandbox wants, and lists but for what is
 * appended to them or popped, which some published templates do.
 */

#include "engine/text/template/string.h"

typedef enum {
    SUNDOG_VALUE_MISSING, /* an argument that was not given; never seen by a template */
    SUNDOG_VALUE_UNDEFINED,
    SUNDOG_VALUE_NONE,
    SUNDOG_VALUE_BOOLEAN,
    SUNDOG_VALUE_INTEGER,
    SUNDOG_VALUE_FLOAT,
    SUNDOG_VALUE_STRING,
    SUNDOG_VALUE_LIST,
    SUNDOG_VALUE_DICT,
    SUNDOG_VALUE_NAMESPACE,
    SUNDOG_VALUE_FUNCTION,
    SUNDOG_VALUE_LOOP,
} SundogValueKind;

typedef struct SundogList SundogList;
typedef struct SundogFunction SundogFunction;
typedef struct SundogLoop SundogLoop;

typedef struct {
    SundogValueKind kind;
    union {
        bool boolean;
        int64_t integer;
        double number;
        const SundogString *string;
        SundogList *list;
        SundogDict *dict; /* also of a namespace */
        const SundogFunction *function;
        SundogLoop *loop;
        const char *reason; /* of an undefined: the error when it is used */
    };
} SundogValue;

/* Python's kinds of sequences; a generator gives each item once. */
typedef enum {
    SUNDOG_LIST_LIST,
    SUNDOG_LIST_TUPLE,
    SUNDOG_LIST_RANGE,
    SUNDOG_LIST_KEYS,
    SUNDOG_LIST_VALUES,
    SUNDOG_LIST_ITEMS,
    SUNDOG_LIST_GENERATOR,
} SundogListFlavor;

struct SundogList {
    SundogListFlavor flavor;
    SundogValue *items;
    size_t n_items;
    size_t capacity;
    size_t n_given; /* of a generator */
};

typedef struct {
    SundogValue key;
    SundogValue value;
    uint32_t hash;
} SundogDictEntry;

/* Entries in the order of insertion, with an index of open addressing beside. */
struct SundogDict {
    SundogDictEntry *entries;
    size_t n_entries;
    size_t capacity;
    uint32_t *slots; /* index + 1, or 0 */
    size_t n_slots;  /* a power of two */
};

#define SUNDOG_NONE ((SundogValue){.kind = SUNDOG_VALUE_NONE})
#define SUNDOG_MISSING ((SundogValue){.kind = SUNDOG_VALUE_MISSING})

SundogValue sundog_value_boolean(bool boolean);
SundogValue sundog_value_integer(int64_t integer);
SundogValue sundog_value_float(double number);
SundogValue sundog_value_string(const SundogString *string);
SundogValue sundog_value_literal(SundogRender *render, const char *text);
SundogValue sundog_value_list(SundogList *list);
SundogValue sundog_value_undefined(SundogRender *render, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

SundogList *sundog_list_new(SundogRender *render, SundogListFlavor flavor);
void sundog_list_append(SundogRender *render, SundogList *list, SundogValue value);

SundogDict *sundog_dict_new(SundogRender *render);
/* Replaces the value of an equal key. A key that cannot be hashed is an error. */
void sundog_dict_set(SundogRender *render, SundogDict *dict, SundogValue key, SundogValue value);
/* Borrowed until the dict grows; NULL where there is none. */
SundogValue *sundog_dict_get(SundogRender *render, const SundogDict *dict, SundogValue key);
SundogValue *sundog_dict_get_text(SundogRender *render, const SundogDict *dict, const char *key);

bool sundog_value_is_true(SundogValue value);
bool sundog_value_is_number(SundogValue value); /* booleans too, as in Python */
double sundog_value_as_double(SundogValue value);
int64_t sundog_value_as_integer(SundogValue value); /* of a boolean or an integer */
bool sundog_value_equal(SundogRender *render, SundogValue a, SundogValue b);
/* Less, equal or greater as -1, 0, 1; kinds without an order are an error that names `operation`. */
int sundog_value_compare(SundogRender *render, SundogValue a, SundogValue b, const char *operation);
/* Python's name of the type: "str", "NoneType", … */
const char *sundog_value_type_name(SundogValue value);

/* What iterating gives, as a list borrowed or made for it; NULL with an error for what cannot. A
 * generator's items are given once. */
SundogList *sundog_value_iterate(SundogRender *render, SundogValue value);
bool sundog_value_is_iterable(SundogValue value);
/* Python's len(), or -1 where there is none. */
int64_t sundog_value_length(SundogValue value);

/* Strings of the variables are the template's own where `trusted`. */
SundogValue sundog_value_from_json(SundogRender *render, JsonNode *node, bool trusted);
