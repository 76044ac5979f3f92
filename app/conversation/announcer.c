/* Whole sentences out of growing text. */

#include "app/conversation/announcer.h"
#include <gmodule.h>
#include <string.h>

#define PRIORITY_MEDIUM 1

struct _SundogAnnouncer {
    GtkWidget parent_instance;
    SundogMessage *answer;
    gulong handler;
    size_t n_told;
    void (*announce)(GtkAccessible *accessible, const char *text, int priority);
};

G_DEFINE_FINAL_TYPE(SundogAnnouncer, sundog_announcer, GTK_TYPE_WIDGET)

static bool
is_sentence_end(gunichar c)
{
    return c == '.' || c == '!' || c == '?' || c == ':' || c == 0x3002 || c == 0xff01 ||
           c == 0xff1f || c == 0x2026;
}

size_t
sundog_announcer_count_sentences(const char *text, bool ended)
{
    size_t n = 0;
    if (ended)
        return strlen(text);
    for (const char *p = text; *p;) {
        const char *next = g_utf8_next_char(p);
        gunichar c = g_utf8_get_char(p);
        bool wide = c >= 0x3000;
        if (c == '\n' || (is_sentence_end(c) && (g_ascii_isspace(*next) || (wide && *next))))
            n = next - text;
        p = next;
    }
    return n;
}

static void
tell(SundogAnnouncer *self, const char *text)
{
    if (self->announce)
        self->announce(GTK_ACCESSIBLE(self), text, PRIORITY_MEDIUM);
    else
        gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL, text,
                                       -1);
}

/* Marks of Markdown are for the eye. */
static char *
dup_spoken(const char *text, size_t n_bytes)
{
    GString *spoken = g_string_sized_new(n_bytes);
    for (size_t i = 0; i < n_bytes; i++)
        if (!strchr("*`#|~", text[i]))
            g_string_append_c(spoken, text[i]);
    return g_strstrip(g_string_free(spoken, FALSE));
}

static void
on_changed(SundogAnnouncer *self)
{
    GString *content = self->answer->content;
    bool ended = self->answer->state != SUNDOG_MESSAGE_STREAMING;
    if (self->n_told > content->len)
        self->n_told = content->len;
    size_t n = sundog_announcer_count_sentences(content->str + self->n_told, ended);
    if (n == 0)
        return;
    g_autofree char *text = dup_spoken(content->str + self->n_told, n);
    self->n_told += n;
    if (*text)
        tell(self, text);
}

void
sundog_announcer_follow(SundogAnnouncer *announcer, SundogMessage *answer)
{
    if (announcer->answer)
        g_clear_signal_handler(&announcer->handler, announcer->answer);
    g_set_object(&announcer->answer, answer);
    if (!answer)
        return;
    announcer->n_told = answer->content->len;
    announcer->handler =
        g_signal_connect_swapped(answer, "changed", G_CALLBACK(on_changed), announcer);
}

static void
sundog_announcer_dispose(GObject *object)
{
    sundog_announcer_follow(SUNDOG_ANNOUNCER(object), NULL);
    G_OBJECT_CLASS(sundog_announcer_parent_class)->dispose(object);
}

static void
sundog_announcer_class_init(SundogAnnouncerClass *class)
{
    G_OBJECT_CLASS(class)->dispose = sundog_announcer_dispose;
    gtk_widget_class_set_accessible_role(GTK_WIDGET_CLASS(class), GTK_ACCESSIBLE_ROLE_STATUS);
}

static void
sundog_announcer_init(SundogAnnouncer *self)
{
    GModule *program = g_module_open(NULL, 0);
    gpointer symbol = NULL;
    if (program && g_module_symbol(program, "gtk_accessible_announce", &symbol))
        self->announce = symbol;
    if (program)
        g_module_close(program);
}
