/* Two vocabularies, token by token. */

#include "engine/format/vocabulary.h"

#include "engine/format/error.h"
#include <string.h>

static bool
is_same(const SundogToken *first, const SundogToken *second)
{
    return first->length == second->length && memcmp(first->text, second->text, first->length) == 0;
}

static bool
refuse(GError **error, uint32_t id, const char *first, const char *second)
{
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "the vocabularies differ: token %u is \"%s\" in one and \"%s\" in the other", id,
                first, second);
    return false;
}

/* The longer one's tokens that the shorter lacks. */
static bool
check_rest(const SundogVocabulary *longer, uint32_t n_common, GError **error)
{
    for (uint32_t i = n_common; i < longer->n_tokens; i++)
        if (longer->tokens[i].kind != SUNDOG_TOKEN_UNUSED)
            return refuse(error, i, longer->tokens[i].text, "");
    return true;
}

bool
sundog_vocabulary_check_same(const SundogVocabulary *first, const SundogVocabulary *second,
                             GError **error)
{
    uint32_t n_common = MIN(first->n_tokens, second->n_tokens);
    for (uint32_t i = 0; i < n_common; i++)
        if (!is_same(&first->tokens[i], &second->tokens[i]))
            return refuse(error, i, first->tokens[i].text, second->tokens[i].text);
    return check_rest(first->n_tokens > n_common ? first : second, n_common, error);
}
