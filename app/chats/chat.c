/* A chat's fields, its title and its heading in the sidebar. */

#include "app/chats/chat.h"
#include <glib/gi18n.h>
#include <string.h>

#define TITLE_MAX_CHARACTERS 48

enum { CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogChat, sundog_chat, G_TYPE_OBJECT)

static void
sundog_chat_finalize(GObject *object)
{
    SundogChat *self = SUNDOG_CHAT(object);
    g_free(self->title);
    g_free(self->core);
    g_free(self->instructions);
    g_free(self->parameters);
    g_free(self->draft);
    g_free(self->queued);
    G_OBJECT_CLASS(sundog_chat_parent_class)->finalize(object);
}

static void
sundog_chat_class_init(SundogChatClass *class)
{
    G_OBJECT_CLASS(class)->finalize = sundog_chat_finalize;
    signals[CHANGED] = g_signal_new("changed", SUNDOG_TYPE_CHAT, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                    NULL, G_TYPE_NONE, 0);
}

static void
sundog_chat_init(SundogChat *self)
{
    self->title = g_strdup("");
    self->draft = g_strdup("");
    self->updated_us = g_get_real_time();
}

SundogChat *
sundog_chat_new(void)
{
    return g_object_new(SUNDOG_TYPE_CHAT, NULL);
}

void
sundog_chat_changed(SundogChat *chat)
{
    g_signal_emit(chat, signals[CHANGED], 0);
}

const char *
sundog_chat_get_display_title(SundogChat *chat)
{
    return *chat->title ? chat->title : _("New chat");
}

char *
sundog_chat_dup_title_from(const char *message)
{
    g_autofree char *text = g_strdup(message);
    g_strstrip(text);
    text[strcspn(text, "\r\n")] = '\0';
    g_strchomp(text);
    if (g_utf8_strlen(text, -1) <= TITLE_MAX_CHARACTERS)
        return g_steal_pointer(&text);
    char *end = g_utf8_offset_to_pointer(text, TITLE_MAX_CHARACTERS);
    char *space = g_utf8_strrchr(text, end - text, ' ');
    *(space && space > text + TITLE_MAX_CHARACTERS / 2 ? space : end) = '\0';
    return g_strconcat(text, "…", NULL);
}

/* Whole days between two moments by the calendar, not by hours. */
static int
count_days(GDateTime *from, GDateTime *to)
{
    GDate a, b;
    g_date_clear(&a, 1);
    g_date_clear(&b, 1);
    g_date_set_dmy(&a, g_date_time_get_day_of_month(from), g_date_time_get_month(from),
                   g_date_time_get_year(from));
    g_date_set_dmy(&b, g_date_time_get_day_of_month(to), g_date_time_get_month(to),
                   g_date_time_get_year(to));
    return g_date_days_between(&a, &b);
}

char *
sundog_chat_dup_section(SundogChat *chat, GDateTime *now)
{
    if (chat->pinned)
        return g_strdup(_("Pinned"));
    g_autoptr(GDateTime) utc = g_date_time_new_from_unix_utc(chat->updated_us / G_USEC_PER_SEC);
    g_autoptr(GDateTime) then = utc ? g_date_time_to_local(utc) : g_date_time_ref(now);
    int n_days = count_days(then, now);
    if (n_days <= 0)
        return g_strdup(_("Today"));
    if (n_days == 1)
        return g_strdup(_("Yesterday"));
    if (n_days < 7)
        return g_strdup(_("This week"));
    if (g_date_time_get_year(then) == g_date_time_get_year(now))
        return g_date_time_format(then, "%OB");
    /* Translators: a heading for older chats, a month and its year. */
    return g_date_time_format(then, _("%OB %Y"));
}
