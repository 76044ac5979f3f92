/* Leaf by leaf, character by character, so that offsets are those of the text as it is shown. */

#include "app/selection/text-search.h"
#include "app/selection/passage.h"
#include "app/selection/text-leaf.h"
#include <string.h>

static gunichar *
dup_lower(const char *text, size_t *n)
{
    glong n_characters;
    gunichar *characters = g_utf8_to_ucs4_fast(text, -1, &n_characters);
    for (glong i = 0; i < n_characters; i++)
        characters[i] = g_unichar_tolower(characters[i]);
    *n = n_characters;
    return characters;
}

/* The offset of the first occurrence, -1 where there is none. */
static int
find_in_text(const char *text, const gunichar *wanted, size_t n_wanted)
{
    size_t n;
    g_autofree gunichar *characters = dup_lower(text, &n);
    for (size_t i = 0; i + n_wanted <= n; i++)
        if (memcmp(characters + i, wanted, n_wanted * sizeof *wanted) == 0)
            return (int)i;
    return -1;
}

static bool
find_in_passage(GtkWidget *passage, const gunichar *wanted, size_t n_wanted, SundogPlace *start)
{
    g_autoptr(GPtrArray) leaves = g_ptr_array_new();
    sundog_text_leaf_collect(passage, leaves);
    for (unsigned i = 0; i < leaves->len; i++) {
        g_autofree char *text = sundog_text_leaf_dup_text(leaves->pdata[i]);
        int offset = find_in_text(text, wanted, n_wanted);
        if (offset >= 0) {
            *start = (SundogPlace){passage, i, (unsigned)offset};
            return true;
        }
    }
    return false;
}

bool
sundog_text_search_find(GtkWidget *root, const char *text, SundogPlace *start, SundogPlace *end)
{
    size_t n_wanted;
    g_autofree gunichar *wanted = dup_lower(text, &n_wanted);
    g_autoptr(GPtrArray) passages = g_ptr_array_new();
    sundog_passage_collect(root, passages);
    for (unsigned i = 0; n_wanted > 0 && i < passages->len; i++)
        if (find_in_passage(passages->pdata[i], wanted, n_wanted, start)) {
            *end = *start;
            end->offset += n_wanted;
            return true;
        }
    return false;
}
