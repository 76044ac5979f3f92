/* A GtkSourceView in a card. */

#include "app/markdown/code-card.h"
#include "app/selection/text-leaf.h"
#include "app/sideways.h"
#include <glib/gi18n.h>
#include <gtksourceview/gtksource.h>
#include <string.h>

#define COPIED_MS 1500

struct _SundogCodeCard {
    GtkWidget parent_instance;
    GtkWidget *box;
    GtkWidget *head;
    GtkScrolledWindow *scroller;
    GtkLabel *language;
    GtkButton *copy;
    GtkToggleButton *wrap;
    GtkSourceView *view;
    GtkSourceBuffer *buffer;
    char *language_id;
    unsigned copied_timer;
};

G_DEFINE_FINAL_TYPE(SundogCodeCard, sundog_code_card, GTK_TYPE_WIDGET)

/* The names that fences use where GtkSourceView has another. */
static const struct {
    const char *fence, *id;
} aliases[] = {
    {"bash", "sh"},        {"c++", "cpp"},       {"cs", "c-sharp"},     {"csharp", "c-sharp"},
    {"golang", "go"},      {"javascript", "js"}, {"jsx", "jsx"},        {"kt", "kotlin"},
    {"md", "markdown"},    {"objc", "objc"},     {"ps1", "powershell"}, {"py", "python3"},
    {"python", "python3"}, {"rb", "ruby"},       {"rs", "rust"},        {"shell", "sh"},
    {"sh", "sh"},          {"ts", "typescript"}, {"yml", "yaml"},       {"zsh", "sh"},
};

static GtkSourceLanguage *
find_language(const char *fence)
{
    if (!fence)
        return NULL;
    g_autofree char *name = g_ascii_strdown(fence, -1);
    const char *id = name;
    for (unsigned i = 0; i < G_N_ELEMENTS(aliases); i++)
        if (strcmp(aliases[i].fence, name) == 0)
            id = aliases[i].id;
    return gtk_source_language_manager_get_language(gtk_source_language_manager_get_default(), id);
}

static void
apply_scheme(SundogCodeCard *self)
{
    gboolean dark = FALSE;
    g_object_get(gtk_settings_get_default(), "gtk-application-prefer-dark-theme", &dark, NULL);
    GtkSourceStyleScheme *scheme = gtk_source_style_scheme_manager_get_scheme(
        gtk_source_style_scheme_manager_get_default(), dark ? "Adwaita-dark" : "Adwaita");
    gtk_source_buffer_set_style_scheme(self->buffer, scheme);
}

static void
set_language(SundogCodeCard *self, const char *fence)
{
    if (g_strcmp0(fence, self->language_id) == 0 && self->language_id)
        return;
    g_free(self->language_id);
    self->language_id = g_strdup(fence);
    GtkSourceLanguage *language = find_language(fence);
    gtk_source_buffer_set_language(self->buffer, language);
    gtk_source_buffer_set_highlight_syntax(self->buffer, language != NULL);
    gtk_label_set_text(self->language, language ? gtk_source_language_get_name(language)
                                       : fence  ? fence
                                                : _("Code"));
}

/* The end of the last line is not shown as an empty line. */
static size_t
count_shown(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && text[n - 1] == '\n' ? n - 1 : n;
}

static char *
dup_text(SundogCodeCard *card)
{
    GtkTextIter start, end;
    gtk_text_buffer_get_bounds(GTK_TEXT_BUFFER(card->buffer), &start, &end);
    return gtk_text_buffer_get_text(GTK_TEXT_BUFFER(card->buffer), &start, &end, TRUE);
}

void
sundog_code_card_update(SundogCodeCard *card, const SundogBlock *block)
{
    GtkTextBuffer *buffer = GTK_TEXT_BUFFER(card->buffer);
    set_language(card, block->language);
    gtk_widget_set_visible(card->head, !block->continued);
    g_autofree char *before = dup_text(card);
    size_t n_before = strlen(before), n_shown = count_shown(block->text);
    if (n_shown == n_before && memcmp(before, block->text, n_shown) == 0)
        return;
    if (n_shown > n_before && memcmp(before, block->text, n_before) == 0) {
        GtkTextIter end;
        gtk_text_buffer_get_end_iter(buffer, &end);
        gtk_text_buffer_insert(buffer, &end, block->text + n_before, n_shown - n_before);
    } else
        gtk_text_buffer_set_text(buffer, block->text, n_shown);
}

/* All that belongs to this card: the cards after it that go on with it as well. */
static char *
dup_whole_text(SundogCodeCard *self)
{
    g_autofree char *own = dup_text(self);
    GString *text = g_string_new(own);
    GtkWidget *next = gtk_widget_get_next_sibling(GTK_WIDGET(self));
    for (; next && SUNDOG_IS_CODE_CARD(next); next = gtk_widget_get_next_sibling(next)) {
        SundogCodeCard *card = SUNDOG_CODE_CARD(next);
        if (gtk_widget_get_visible(card->head))
            break;
        g_autofree char *more = dup_text(card);
        g_string_append_printf(text, "\n%s", more);
    }
    return g_string_free(text, FALSE);
}

static gboolean
on_copied_over(gpointer user_data)
{
    SundogCodeCard *self = user_data;
    self->copied_timer = 0;
    gtk_button_set_icon_name(self->copy, "sundog-copy-symbolic");
    return G_SOURCE_REMOVE;
}

static void
on_copy(GtkButton *button, SundogCodeCard *self)
{
    g_autofree char *text = dup_whole_text(self);
    gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(self)), text);
    gtk_button_set_icon_name(self->copy, "sundog-check-symbolic");
    g_clear_handle_id(&self->copied_timer, g_source_remove);
    self->copied_timer = g_timeout_add(COPIED_MS, on_copied_over, self);
}

static void
on_wrap(GtkToggleButton *button, SundogCodeCard *self)
{
    bool wrap = gtk_toggle_button_get_active(button);
    GtkWidget *card = GTK_WIDGET(self);
    do {
        gtk_text_view_set_wrap_mode(GTK_TEXT_VIEW(SUNDOG_CODE_CARD(card)->view),
                                    wrap ? GTK_WRAP_WORD_CHAR : GTK_WRAP_NONE);
        card = gtk_widget_get_next_sibling(card);
    } while (card && SUNDOG_IS_CODE_CARD(card) &&
             !gtk_widget_get_visible(SUNDOG_CODE_CARD(card)->head));
}

static void
sundog_code_card_dispose(GObject *object)
{
    SundogCodeCard *self = SUNDOG_CODE_CARD(object);
    g_clear_handle_id(&self->copied_timer, g_source_remove);
    g_clear_pointer(&self->language_id, g_free);
    gtk_widget_dispose_template(GTK_WIDGET(self), SUNDOG_TYPE_CODE_CARD);
    G_OBJECT_CLASS(sundog_code_card_parent_class)->dispose(object);
}

static void
sundog_code_card_class_init(SundogCodeCardClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_code_card_dispose;
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    g_type_ensure(GTK_SOURCE_TYPE_VIEW);
    g_type_ensure(GTK_SOURCE_TYPE_BUFFER);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/code-card.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogCodeCard, box);
    gtk_widget_class_bind_template_child(widget_class, SundogCodeCard, head);
    gtk_widget_class_bind_template_child(widget_class, SundogCodeCard, scroller);
    gtk_widget_class_bind_template_child(widget_class, SundogCodeCard, language);
    gtk_widget_class_bind_template_child(widget_class, SundogCodeCard, copy);
    gtk_widget_class_bind_template_child(widget_class, SundogCodeCard, wrap);
    gtk_widget_class_bind_template_child(widget_class, SundogCodeCard, view);
    gtk_widget_class_bind_template_child(widget_class, SundogCodeCard, buffer);
    gtk_widget_class_bind_template_callback(widget_class, on_copy);
    gtk_widget_class_bind_template_callback(widget_class, on_wrap);
}

static void
sundog_code_card_init(SundogCodeCard *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
    sundog_sideways_release_vertical(self->scroller);
    sundog_text_leaf_mark(GTK_WIDGET(self->view));
    gtk_widget_set_cursor_from_name(GTK_WIDGET(self->scroller), "text");
    gtk_text_buffer_set_enable_undo(GTK_TEXT_BUFFER(self->buffer), FALSE);
    apply_scheme(self);
    g_signal_connect_object(gtk_settings_get_default(), "notify::gtk-application-prefer-dark-theme",
                            G_CALLBACK(apply_scheme), self, G_CONNECT_SWAPPED);
}

GtkWidget *
sundog_code_card_get_leaf(SundogCodeCard *card)
{
    return GTK_WIDGET(card->view);
}

GtkWidget *
sundog_code_card_new(const SundogBlock *block)
{
    SundogCodeCard *self = g_object_new(SUNDOG_TYPE_CODE_CARD, NULL);
    if (block->continued)
        gtk_widget_add_css_class(self->box, "continued");
    sundog_code_card_update(self, block);
    return GTK_WIDGET(self);
}
