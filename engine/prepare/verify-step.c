/* Inputs of steps that verify runs. */

#include "engine/prepare/verify-step.h"

#include "engine/text/tokenizer/tokenizer.h"
#include "kernels/contract/paged-cache.h"

#include <string.h>

/* Prose, code, dialogue, numbers and other scripts: what moves different parts of a model. */
static const char *const texts[] = {
    "The old lighthouse keeper climbed the stairs every evening, lit the lamp, and wrote down the "
    "names of the ships that passed. One night in November he saw a ship that was on no list.",
    "int sum(const int *values, int n)\n{\n    int total = 0;\n    for (int i = 0; i < n; i++)\n"
    "        total += values[i];\n    return total;\n}\n",
    "Question: Why is the sky blue?\nAnswer: Sunlight is scattered by the molecules of the air, "
    "and "
    "blue light is scattered more strongly than red light, because",
    "Le marché ouvre à huit heures. Der Zug fährt um 9:45 Uhr. 今日はいい天気ですね。 Сегодня "
    "хорошая "
    "погода.",
    "1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597, 2584",
};

/* The buffers of cores for text, and of others, where they are. */
static void
fill_row(SundogVerifyBuffer get, void *of, int32_t row)
{
    int32_t *logit_rows = get(of, "logit_rows"), *token_types = get(of, "token_types");
    if (logit_rows != NULL)
        logit_rows[row] = row;
    if (token_types != NULL)
        token_types[row] = 0;
}

static void
fill_part(SundogVerifyBuffer get, void *of, const SundogVerifyPart *part, uint32_t index,
          int32_t row)
{
    int32_t *first_row = get(of, "first_row");
    int32_t *tables[] = {get(of, "page_table"), get(of, "window_table")};
    first_row[index] = row;
    first_row[index + 1] = row + part->n_tokens;
    ((int32_t *)get(of, "start_position"))[index] = part->start;
    int32_t *state_slot = get(of, "state_slot"); /* NULL where nothing is recurrent */
    if (state_slot != NULL)
        state_slot[index] = (int32_t)(1 + part->sequence);
    for (size_t t = 0; t < G_N_ELEMENTS(tables); t++)
        for (uint32_t p = 0; tables[t] != NULL && p < SUNDOG_VERIFY_PAGES; p++)
            tables[t][index * SUNDOG_VERIFY_PAGES + p] =
                (int32_t)(1 + part->sequence * SUNDOG_VERIFY_PAGES + p);
    for (int32_t i = 0; i < part->n_tokens; i++) {
        ((int32_t *)get(of, "tokens"))[row + i] = part->tokens[i];
        ((int32_t *)get(of, "positions"))[row + i] = part->start + i;
        ((int32_t *)get(of, "token_sequence"))[row + i] = (int32_t)index;
        fill_row(get, of, row + i);
    }
}

void
sundog_verify_fill(SundogVerifyBuffer get, void *of, const SundogVerifyPart *parts,
                   uint32_t n_parts, SundogShape *shape)
{
    int32_t row = 0;
    for (uint32_t i = 0; i < n_parts; i++) {
        fill_part(get, of, &parts[i], i, row);
        row += parts[i].n_tokens;
    }
    shape->values[SUNDOG_VARIABLE_TOKENS] = row;
    shape->values[SUNDOG_VARIABLE_LOGIT_ROWS] = row;
    shape->values[SUNDOG_VARIABLE_SEQUENCES] = n_parts;
    shape->values[SUNDOG_VARIABLE_SEQUENCE_PAGES] = SUNDOG_VERIFY_PAGES;
}

static SundogTokenizer *
open_tokenizer(const SundogCore *core, GError **error)
{
    SundogReader reader;
    g_autoptr(GBytes) bytes =
        sundog_package_dup_member(sundog_core_get_package(core), SUNDOG_CORE_VOCABULARY, error);
    if (bytes == NULL)
        return NULL;
    sundog_reader_init(&reader, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes),
                       SUNDOG_CORE_VOCABULARY);
    g_autoptr(SundogVocabulary) vocabulary = sundog_vocabulary_read(&reader);
    if (!sundog_reader_finish(&reader, error))
        return NULL;
    return sundog_tokenizer_new(g_steal_pointer(&vocabulary), error);
}

static void
free_array(gpointer array)
{
    g_array_unref(array);
}

GPtrArray *
sundog_verify_dup_prompts(const SundogCore *core, GError **error)
{
    g_autoptr(SundogTokenizer) tokenizer = open_tokenizer(core, error);
    if (tokenizer == NULL)
        return NULL;
    GPtrArray *prompts = g_ptr_array_new_with_free_func(free_array);
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        GArray *tokens = g_array_new(FALSE, FALSE, sizeof(int32_t));
        sundog_tokenizer_encode(tokenizer, texts[i], strlen(texts[i]), SUNDOG_TOKENIZE_PLAIN,
                                tokens);
        /* A vocabulary that cannot say a text leaves it out; any two tokens do as well. */
        while (tokens->len < 2)
            g_array_append_val(tokens, ((int32_t){(int32_t)tokens->len}));
        g_array_set_size(tokens, MIN(tokens->len, SUNDOG_VERIFY_MAX_TOKENS));
        g_ptr_array_add(prompts, tokens);
    }
    return prompts;
}

G_STATIC_ASSERT(SUNDOG_VERIFY_MAX_TOKENS < SUNDOG_VERIFY_PAGES * SUNDOG_PAGE_TOKENS);
