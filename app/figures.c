/* Formatting; every sentence is whole, so that it can be translated. */

#include "app/figures.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

char *
sundog_figures_dup_bytes(double n_bytes)
{
    if (n_bytes >= 1e9)
        return g_strdup_printf(_("%.1f GB"), n_bytes / 1e9);
    if (n_bytes >= 1e6)
        return g_strdup_printf(_("%.0f MB"), n_bytes / 1e6);
    return g_strdup_printf(_("%.0f kB"), ceil(n_bytes / 1e3));
}

char *
sundog_figures_dup_count(double n)
{
    if (n >= 1e9)
        return g_strdup_printf(_("%.1f billion"), n / 1e9);
    return g_strdup_printf(_("%.0f million"), n / 1e6);
}

char *
sundog_figures_dup_time_left(double seconds)
{
    if (seconds < 60) {
        int n = MAX((int)ceil(seconds / 5) * 5, 5);
        return g_strdup_printf(ngettext("about %d second left", "about %d seconds left", n), n);
    }
    if (seconds < 5400) {
        int n = (int)ceil(seconds / 60);
        return g_strdup_printf(ngettext("about %d minute left", "about %d minutes left", n), n);
    }
    int n = (int)MIN(ceil(seconds / 3600), 9999);
    return g_strdup_printf(ngettext("about %d hour left", "about %d hours left", n), n);
}

char *
sundog_figures_dup_number(double n)
{
    return g_strdup_printf("%'.0f", n);
}

static JsonNode *
parse(const char *statistics)
{
    JsonNode *root = statistics ? sundog_json_parse(statistics, strlen(statistics), NULL) : NULL;
    if (root && JSON_NODE_HOLDS_OBJECT(root))
        return root;
    g_clear_pointer(&root, json_node_unref);
    return NULL;
}

char *
sundog_figures_dup_summary(const char *statistics)
{
    g_autoptr(JsonNode) root = parse(statistics);
    double rate =
        root ? sundog_json_get_number(json_node_get_object(root), "tokens_per_second", 0) : 0;
    if (!(rate > 0) || !isfinite(rate))
        return NULL;
    return rate < 100 ? g_strdup_printf(_("%.1f tokens/s"), rate)
                      : g_strdup_printf(_("%.0f tokens/s"), rate);
}

/* `sentence` has one %s for the number. */
static void
append(GString *text, const char *sentence, double value)
{
    if (!(value >= 0) || !isfinite(value))
        return;
    bool fraction = value < 100 && value != floor(value);
    g_autofree char *number =
        fraction ? g_strdup_printf("%.1f", value) : sundog_figures_dup_number(value);
    g_autoptr(GString) line = g_string_new(sentence);
    g_string_replace(line, "%s", number, 1);
    g_string_append_printf(text, "%s%s", text->len ? "\n" : "", line->str);
}

char *
sundog_figures_dup_details(SundogMessage *message)
{
    g_autoptr(JsonNode) root = parse(message->statistics);
    if (!root)
        return NULL;
    JsonObject *figures = json_node_get_object(root);
    GString *text = g_string_new(message->model);
    append(text, _("%s tokens written"), sundog_json_get_number(figures, "completion_tokens", -1));
    append(text, _("%s tokens a second"), sundog_json_get_number(figures, "tokens_per_second", -1));
    append(text, _("%s ms to the first token"),
           sundog_json_get_number(figures, "time_to_first_token_ms", -1));
    append(text, _("%s tokens read"), sundog_json_get_number(figures, "prompt_tokens", -1));
    append(text, _("%s of them reused"), sundog_json_get_number(figures, "cached_tokens", -1));
    append(text, _("%s tokens of context used"),
           sundog_json_get_number(figures, "context_used", -1));
    append(text, _("Seed %s"), sundog_json_get_number(figures, "seed", -1));
    return g_string_free(text, FALSE);
}
