/* The values of a template. */

#include "engine/text/template/value.h"

#include <math.h>
#include <string.h>

SundogValue
sundog_value_boolean(bool boolean)
{
    return (SundogValue){.kind = SUNDOG_VALUE_BOOLEAN, .boolean = boolean};
}

SundogValue
sundog_value_integer(int64_t integer)
{
    return (SundogValue){.kind = SUNDOG_VALUE_INTEGER, .integer = integer};
}

SundogValue
sundog_value_float(double number)
{
    return (SundogValue){.kind = SUNDOG_VALUE_FLOAT, .number = number};
}

SundogValue
sundog_value_string(const SundogString *string)
{
    return (SundogValue){.kind = SUNDOG_VALUE_STRING, .string = string};
}

SundogValue
sundog_value_literal(SundogRender *render, const char *text)
{
    return sundog_value_string(sundog_string_literal(render, text));
}

SundogValue
sundog_value_list(SundogList *list)
{
    return (SundogValue){.kind = SUNDOG_VALUE_LIST, .list = list};
}

SundogValue
sundog_value_undefined(SundogRender *render, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *reason = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    size_t n = strlen(reason) + 1;
    char *copy = sundog_render_take(render, n);
    memcpy(copy, reason, n);
    return (SundogValue){.kind = SUNDOG_VALUE_UNDEFINED, .reason = copy};
}

SundogList *
sundog_list_new(SundogRender *render, SundogListFlavor flavor)
{
    SundogList *list = sundog_render_take(render, sizeof *list);
    list->flavor = flavor;
    return list;
}

void
sundog_list_append(SundogRender *render, SundogList *list, SundogValue value)
{
    if (!sundog_render_step(render, 1))
        return;
    if (list->n_items == SUNDOG_RENDER_MAX_ITEMS) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_LIMIT,
                           "The template makes a list of more than %zu items",
                           SUNDOG_RENDER_MAX_ITEMS);
        return;
    }
    if (list->n_items == list->capacity) {
        list->capacity = MAX(8, list->capacity * 2);
        SundogValue *items = sundog_render_take_array(render, SundogValue, list->capacity);
        if (list->n_items > 0)
            memcpy(items, list->items, list->n_items * sizeof *items);
        list->items = items;
    }
    list->items[list->n_items++] = value;
}

/* Equal numbers hash alike whatever their kind, as Python's do. */
static uint32_t
hash_double(double number)
{
    return g_double_hash(&number);
}

static uint32_t hash_value(SundogRender *render, SundogValue value);

static uint32_t
hash_bytes(const char *bytes, size_t n_bytes)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < n_bytes; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash;
}

static uint32_t
hash_tuple(SundogRender *render, const SundogList *tuple)
{
    uint32_t hash = 7;
    if (sundog_render_enter(render))
        for (size_t i = 0; i < tuple->n_items && !sundog_render_failed(render); i++)
            hash = hash * 31 + hash_value(render, tuple->items[i]);
    sundog_render_leave(render);
    return hash;
}

static uint32_t
hash_value(SundogRender *render, SundogValue value)
{
    switch (value.kind) {
    case SUNDOG_VALUE_STRING:
        sundog_render_step(render, value.string->n_bytes / 64);
        return hash_bytes(sundog_string_text(render, value.string), value.string->n_bytes);
    case SUNDOG_VALUE_BOOLEAN:
    case SUNDOG_VALUE_INTEGER:
    case SUNDOG_VALUE_FLOAT:
        return hash_double(sundog_value_as_double(value));
    case SUNDOG_VALUE_LIST:
        if (value.list->flavor == SUNDOG_LIST_TUPLE)
            return hash_tuple(render, value.list);
        break;
    case SUNDOG_VALUE_DICT:
        break;
    default:
        return (uint32_t)value.kind;
    }
    sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "unhashable type: '%s'",
                       sundog_value_type_name(value));
    return 0;
}

SundogDict *
sundog_dict_new(SundogRender *render)
{
    return sundog_render_take(render, sizeof(SundogDict));
}

static void
dict_insert_slot(SundogDict *dict, uint32_t hash, size_t index)
{
    size_t slot = hash & (dict->n_slots - 1);
    while (dict->slots[slot] != 0)
        slot = (slot + 1) & (dict->n_slots - 1);
    dict->slots[slot] = (uint32_t)index + 1;
}

static void
dict_grow(SundogRender *render, SundogDict *dict)
{
    dict->capacity = MAX(4, dict->capacity * 2);
    dict->n_slots = dict->capacity * 2;
    SundogDictEntry *entries = sundog_render_take_array(render, SundogDictEntry, dict->capacity);
    if (dict->n_entries > 0)
        memcpy(entries, dict->entries, dict->n_entries * sizeof *entries);
    dict->entries = entries;
    dict->slots = sundog_render_take_array(render, uint32_t, dict->n_slots);
    for (size_t i = 0; i < dict->n_entries; i++)
        dict_insert_slot(dict, entries[i].hash, i);
}

static SundogDictEntry *
dict_find(SundogRender *render, const SundogDict *dict, SundogValue key, uint32_t hash)
{
    if (dict->n_entries == 0)
        return NULL;
    for (size_t slot = hash & (dict->n_slots - 1); dict->slots[slot] != 0;
         slot = (slot + 1) & (dict->n_slots - 1)) {
        SundogDictEntry *entry = &dict->entries[dict->slots[slot] - 1];
        if (entry->hash == hash && sundog_value_equal(render, entry->key, key))
            return entry;
        if (!sundog_render_step(render, 1))
            return NULL;
    }
    return NULL;
}

void
sundog_dict_set(SundogRender *render, SundogDict *dict, SundogValue key, SundogValue value)
{
    uint32_t hash = hash_value(render, key);
    SundogDictEntry *entry = dict_find(render, dict, key, hash);
    if (!sundog_render_step(render, 1) || dict->n_entries == SUNDOG_RENDER_MAX_ITEMS)
        return;
    if (entry != NULL) {
        entry->value = value;
        return;
    }
    if (dict->n_entries == dict->capacity)
        dict_grow(render, dict);
    dict->entries[dict->n_entries] = (SundogDictEntry){key, value, hash};
    dict_insert_slot(dict, hash, dict->n_entries++);
}

SundogValue *
sundog_dict_get(SundogRender *render, const SundogDict *dict, SundogValue key)
{
    SundogDictEntry *entry = dict_find(render, dict, key, hash_value(render, key));
    return entry != NULL ? &entry->value : NULL;
}

SundogValue *
sundog_dict_get_text(SundogRender *render, const SundogDict *dict, const char *key)
{
    SundogStringRun run = {strlen(key), true};
    SundogString string = {.n_bytes = run.end, .text = key, .runs = &run, .n_runs = 1};
    return sundog_dict_get(render, dict, sundog_value_string(&string));
}

bool
sundog_value_is_true(SundogValue value)
{
    switch (value.kind) {
    case SUNDOG_VALUE_MISSING:
    case SUNDOG_VALUE_UNDEFINED:
    case SUNDOG_VALUE_NONE:
        return false;
    case SUNDOG_VALUE_BOOLEAN:
        return value.boolean;
    case SUNDOG_VALUE_INTEGER:
        return value.integer != 0;
    case SUNDOG_VALUE_FLOAT:
        return value.number != 0;
    case SUNDOG_VALUE_STRING:
        return value.string->n_bytes > 0;
    case SUNDOG_VALUE_LIST:
        return value.list->flavor == SUNDOG_LIST_GENERATOR || value.list->n_items > 0;
    case SUNDOG_VALUE_DICT:
        return value.dict->n_entries > 0;
    default:
        return true;
    }
}

bool
sundog_value_is_number(SundogValue value)
{
    return value.kind == SUNDOG_VALUE_BOOLEAN || value.kind == SUNDOG_VALUE_INTEGER ||
           value.kind == SUNDOG_VALUE_FLOAT;
}

int64_t
sundog_value_as_integer(SundogValue value)
{
    return value.kind == SUNDOG_VALUE_BOOLEAN ? value.boolean : value.integer;
}

double
sundog_value_as_double(SundogValue value)
{
    return value.kind == SUNDOG_VALUE_FLOAT ? value.number : (double)sundog_value_as_integer(value);
}

static bool
numbers_equal(SundogValue a, SundogValue b)
{
    if (a.kind != SUNDOG_VALUE_FLOAT && b.kind != SUNDOG_VALUE_FLOAT)
        return sundog_value_as_integer(a) == sundog_value_as_integer(b);
    return sundog_value_as_double(a) == sundog_value_as_double(b);
}

static bool
lists_equal(SundogRender *render, const SundogList *a, const SundogList *b)
{
    if (a == b)
        return true;
    if (a->flavor != b->flavor || a->n_items != b->n_items || a->flavor == SUNDOG_LIST_GENERATOR)
        return false;
    for (size_t i = 0; i < a->n_items; i++)
        if (!sundog_value_equal(render, a->items[i], b->items[i]))
            return false;
    return true;
}

static bool
dicts_equal(SundogRender *render, const SundogDict *a, const SundogDict *b)
{
    if (a->n_entries != b->n_entries)
        return false;
    for (size_t i = 0; i < a->n_entries; i++) {
        const SundogDictEntry *entry = &a->entries[i];
        const SundogDictEntry *other = dict_find(render, b, entry->key, entry->hash);
        if (other == NULL || !sundog_value_equal(render, entry->value, other->value))
            return false;
    }
    return true;
}

static bool
same_kind_equal(SundogRender *render, SundogValue a, SundogValue b)
{
    switch (a.kind) {
    case SUNDOG_VALUE_STRING:
        return sundog_string_equal(render, a.string, b.string);
    case SUNDOG_VALUE_LIST:
        return lists_equal(render, a.list, b.list);
    case SUNDOG_VALUE_DICT:
        return dicts_equal(render, a.dict, b.dict);
    case SUNDOG_VALUE_NAMESPACE:
        return a.dict == b.dict;
    case SUNDOG_VALUE_FUNCTION:
        return a.function == b.function;
    case SUNDOG_VALUE_LOOP:
        return a.loop == b.loop;
    default:
        return true;
    }
}

bool
sundog_value_equal(SundogRender *render, SundogValue a, SundogValue b)
{
    if (sundog_value_is_number(a) && sundog_value_is_number(b))
        return numbers_equal(a, b);
    if (a.kind != b.kind)
        return false;
    bool equal = sundog_render_enter(render) && same_kind_equal(render, a, b);
    sundog_render_leave(render);
    return equal;
}

static int
compare_lists(SundogRender *render, const SundogList *a, const SundogList *b, const char *operation)
{
    size_t n = MIN(a->n_items, b->n_items);
    for (size_t i = 0; i < n && !sundog_render_failed(render); i++)
        if (!sundog_value_equal(render, a->items[i], b->items[i]))
            return sundog_value_compare(render, a->items[i], b->items[i], operation);
    return (a->n_items > b->n_items) - (a->n_items < b->n_items);
}

int
sundog_value_compare(SundogRender *render, SundogValue a, SundogValue b, const char *operation)
{
    int order = 0;
    if (sundog_value_is_number(a) && sundog_value_is_number(b)) {
        if (a.kind != SUNDOG_VALUE_FLOAT && b.kind != SUNDOG_VALUE_FLOAT) {
            int64_t x = sundog_value_as_integer(a), y = sundog_value_as_integer(b);
            return (x > y) - (x < y);
        }
        double x = sundog_value_as_double(a), y = sundog_value_as_double(b);
        return (x > y) - (x < y);
    }
    if (a.kind == SUNDOG_VALUE_UNDEFINED || b.kind == SUNDOG_VALUE_UNDEFINED) {
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "%s",
                           a.kind == SUNDOG_VALUE_UNDEFINED ? a.reason : b.reason);
        return 0;
    }
    if (!sundog_render_enter(render))
        order = 0;
    else if (a.kind == SUNDOG_VALUE_STRING && b.kind == SUNDOG_VALUE_STRING)
        order = sundog_string_compare(render, a.string, b.string);
    else if (a.kind == SUNDOG_VALUE_LIST && b.kind == SUNDOG_VALUE_LIST &&
             a.list->flavor == b.list->flavor && a.list->flavor <= SUNDOG_LIST_TUPLE)
        order = compare_lists(render, a.list, b.list, operation);
    else
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "'%s' not supported between instances of '%s' and '%s'", operation,
                           sundog_value_type_name(a), sundog_value_type_name(b));
    sundog_render_leave(render);
    return (order > 0) - (order < 0);
}

static const char *const list_names[] = {
    [SUNDOG_LIST_LIST] = "list",           [SUNDOG_LIST_TUPLE] = "tuple",
    [SUNDOG_LIST_RANGE] = "range",         [SUNDOG_LIST_KEYS] = "dict_keys",
    [SUNDOG_LIST_VALUES] = "dict_values",  [SUNDOG_LIST_ITEMS] = "dict_items",
    [SUNDOG_LIST_GENERATOR] = "generator",
};

const char *
sundog_value_type_name(SundogValue value)
{
    switch (value.kind) {
    case SUNDOG_VALUE_NONE:
        return "NoneType";
    case SUNDOG_VALUE_BOOLEAN:
        return "bool";
    case SUNDOG_VALUE_INTEGER:
        return "int";
    case SUNDOG_VALUE_FLOAT:
        return "float";
    case SUNDOG_VALUE_STRING:
        return value.string->markup ? "Markup" : "str";
    case SUNDOG_VALUE_LIST:
        return list_names[value.list->flavor];
    case SUNDOG_VALUE_DICT:
        return "dict";
    case SUNDOG_VALUE_NAMESPACE:
        return "Namespace";
    case SUNDOG_VALUE_FUNCTION:
        return "function";
    case SUNDOG_VALUE_LOOP:
        return "LoopContext";
    default:
        return "Undefined";
    }
}

static SundogList *
list_characters(SundogRender *render, const SundogString *string)
{
    SundogList *list = sundog_list_new(render, SUNDOG_LIST_LIST);
    const char *text = sundog_string_text(render, string);
    for (size_t i = 0; i < string->n_bytes && !sundog_render_failed(render);) {
        size_t next = (size_t)(g_utf8_next_char(text + i) - text);
        const SundogString *character = sundog_string_slice(render, string, i, next);
        sundog_list_append(render, list, sundog_value_string(character));
        i = next;
    }
    return list;
}

static SundogList *
list_keys(SundogRender *render, const SundogDict *dict)
{
    SundogList *list = sundog_list_new(render, SUNDOG_LIST_LIST);
    for (size_t i = 0; i < dict->n_entries; i++)
        sundog_list_append(render, list, dict->entries[i].key);
    return list;
}

/* The rest of a generator, which is spent by this. */
static SundogList *
spend_generator(SundogRender *render, SundogList *generator)
{
    SundogList *rest = sundog_list_new(render, SUNDOG_LIST_LIST);
    rest->items = generator->items + generator->n_given;
    rest->n_items = rest->capacity = generator->n_items - generator->n_given;
    generator->n_given = generator->n_items;
    return rest;
}

SundogList *
sundog_value_iterate(SundogRender *render, SundogValue value)
{
    switch (value.kind) {
    case SUNDOG_VALUE_UNDEFINED:
        return sundog_list_new(render, SUNDOG_LIST_LIST);
    case SUNDOG_VALUE_STRING:
        return list_characters(render, value.string);
    case SUNDOG_VALUE_DICT:
        return list_keys(render, value.dict);
    case SUNDOG_VALUE_LIST:
        return value.list->flavor == SUNDOG_LIST_GENERATOR ? spend_generator(render, value.list)
                                                           : value.list;
    default:
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "'%s' object is not iterable",
                           sundog_value_type_name(value));
        return NULL;
    }
}

bool
sundog_value_is_iterable(SundogValue value)
{
    return value.kind == SUNDOG_VALUE_UNDEFINED || value.kind == SUNDOG_VALUE_STRING ||
           value.kind == SUNDOG_VALUE_DICT || value.kind == SUNDOG_VALUE_LIST ||
           value.kind == SUNDOG_VALUE_LOOP;
}

int64_t
sundog_value_length(SundogValue value)
{
    switch (value.kind) {
    case SUNDOG_VALUE_UNDEFINED:
        return 0;
    case SUNDOG_VALUE_STRING:
        return (int64_t)value.string->n_chars;
    case SUNDOG_VALUE_DICT:
        return (int64_t)value.dict->n_entries;
    case SUNDOG_VALUE_LIST:
        return value.list->flavor == SUNDOG_LIST_GENERATOR ? -1 : (int64_t)value.list->n_items;
    default:
        return -1;
    }
}

static SundogValue
string_from_json(SundogRender *render, const char *text, bool trusted)
{
    size_t n = strlen(text);
    if (g_utf8_validate(text, (gssize)n, NULL))
        return sundog_value_string(sundog_string_new(render, text, n, trusted));
    g_autofree char *valid = g_utf8_make_valid(text, (gssize)n);
    return sundog_value_string(sundog_string_new(render, valid, strlen(valid), trusted));
}

static SundogValue
list_from_json(SundogRender *render, JsonArray *array, bool trusted)
{
    SundogList *list = sundog_list_new(render, SUNDOG_LIST_LIST);
    unsigned n = json_array_get_length(array);
    for (unsigned i = 0; i < n && !sundog_render_failed(render); i++)
        sundog_list_append(
            render, list,
            sundog_value_from_json(render, json_array_get_element(array, i), trusted));
    return sundog_value_list(list);
}

static SundogValue
dict_from_json(SundogRender *render, JsonObject *object, bool trusted)
{
    SundogDict *dict = sundog_dict_new(render);
    JsonObjectIter iter;
    const char *name;
    JsonNode *member;
    json_object_iter_init_ordered(&iter, object);
    while (json_object_iter_next_ordered(&iter, &name, &member) && !sundog_render_failed(render))
        sundog_dict_set(render, dict, string_from_json(render, name, trusted),
                        sundog_value_from_json(render, member, trusted));
    return (SundogValue){.kind = SUNDOG_VALUE_DICT, .dict = dict};
}

static SundogValue
scalar_from_json(SundogRender *render, JsonNode *node, bool trusted)
{
    GType type = json_node_get_value_type(node);
    if (type == G_TYPE_STRING)
        return string_from_json(render, json_node_get_string(node), trusted);
    if (type == G_TYPE_BOOLEAN)
        return sundog_value_boolean(json_node_get_boolean(node));
    if (type == G_TYPE_DOUBLE || type == G_TYPE_FLOAT)
        return sundog_value_float(json_node_get_double(node));
    return sundog_value_integer(json_node_get_int(node));
}

SundogValue
sundog_value_from_json(SundogRender *render, JsonNode *node, bool trusted)
{
    SundogValue value = SUNDOG_NONE;
    if (sundog_render_enter(render)) {
        if (JSON_NODE_HOLDS_ARRAY(node))
            value = list_from_json(render, json_node_get_array(node), trusted);
        else if (JSON_NODE_HOLDS_OBJECT(node))
            value = dict_from_json(render, json_node_get_object(node), trusted);
        else if (JSON_NODE_HOLDS_VALUE(node))
            value = scalar_from_json(render, node, trusted);
    }
    sundog_render_leave(render);
    return value;
}
