/* What a person does in a chat, handed to SundogChats, and what comes back, handed to the widgets. */

#include "app/conversation/conversation.h"
#include "app/application.h"
#include "app/conversation/announcer.h"
#include "app/conversation/composer.h"
#include "app/conversation/context-meter.h"
#include "app/conversation/find-bar.h"
#include "app/conversation/message-list.h"
#include "app/conversation/welcome.h"
#include "app/window.h"
#include <glib/gi18n.h>
#include <string.h>

/* A draft is written this long after the last key. */
#define DRAFT_MS 700

struct _SundogConversation {
    GtkWidget parent_instance;
    GtkWidget *box;
    SundogFindBar *find_bar;
    GtkStack *stack;
    SundogWelcome *welcome;
    SundogMessageList *list;
    SundogComposer *composer;
    SundogAnnouncer *announcer;
    SundogContextMeter *meter;
    SundogChat *chat;
    SundogGeneration *generation; /* the one that is shown, or NULL */
    gulong generation_handler;
    unsigned draft_timer;
};

enum { CHAT_CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogConversation, sundog_conversation, GTK_TYPE_WIDGET)

static SundogChats *
get_chats(void)
{
    return sundog_application_get_chats(sundog_application_get());
}

static const char *
get_core(SundogConversation *self)
{
    return sundog_shelf_choose_core(sundog_application_get_shelf(sundog_application_get()),
                                    self->chat->core);
}

static GPtrArray *
get_messages(SundogConversation *self)
{
    return sundog_message_list_get_messages(self->list);
}

static SundogMessage *
get_last_message(SundogConversation *self)
{
    GPtrArray *messages = get_messages(self);
    return messages->len > 0 ? messages->pdata[messages->len - 1] : NULL;
}

/* The last answer that the server counted; the one being written has no figures yet. */
static SundogMessage *
get_counted_answer(SundogConversation *self)
{
    GPtrArray *messages = get_messages(self);
    for (unsigned i = messages->len; i > 0; i--)
        if (((SundogMessage *)messages->pdata[i - 1])->statistics)
            return messages->pdata[i - 1];
    return NULL;
}

static void
update_activity(SundogConversation *self)
{
    g_autofree char *activity =
        self->generation ? sundog_generation_dup_activity(self->generation) : NULL;
    sundog_composer_set_running(self->composer, self->generation != NULL, activity);
    sundog_message_list_set_activity(self->list, activity);
}

/* Shows the generation that runs in this chat now, if any. */
static void
attach_generation(SundogConversation *self)
{
    SundogGeneration *generation = sundog_chats_get_generation(get_chats(), self->chat);
    if (generation != self->generation) {
        if (self->generation)
            g_clear_signal_handler(&self->generation_handler, self->generation);
        g_set_object(&self->generation, generation);
        if (generation)
            self->generation_handler =
                g_signal_connect_swapped(generation, "changed", G_CALLBACK(update_activity), self);
        sundog_announcer_follow(self->announcer,
                                generation ? sundog_generation_get_answer(generation) : NULL);
    }
    update_activity(self);
}

static void
reload(SundogConversation *self)
{
    sundog_message_list_set_messages(self->list, sundog_chats_load(get_chats(), self->chat));
    bool empty = get_messages(self)->len == 0;
    gtk_stack_set_visible_child_name(self->stack, empty ? "welcome" : "messages");
    sundog_context_meter_set_answer(self->meter, get_counted_answer(self));
    attach_generation(self);
}

/* The draft */

void
sundog_conversation_save_draft(SundogConversation *conversation)
{
    g_clear_handle_id(&conversation->draft_timer, g_source_remove);
    if (!conversation->chat)
        return;
    g_autofree char *text = sundog_composer_dup_text(conversation->composer);
    if (strcmp(text, conversation->chat->draft) == 0)
        return;
    bool new = conversation->chat->id == 0;
    g_free(conversation->chat->draft);
    conversation->chat->draft = g_steal_pointer(&text);
    sundog_chats_save(get_chats(), conversation->chat);
    if (new && conversation->chat->id)
        g_signal_emit(conversation, signals[CHAT_CHANGED], 0);
}

static gboolean
on_draft_timer(gpointer user_data)
{
    SundogConversation *self = user_data;
    self->draft_timer = 0;
    sundog_conversation_save_draft(self);
    return G_SOURCE_REMOVE;
}

static void
on_composer_changed(SundogConversation *self)
{
    g_clear_handle_id(&self->draft_timer, g_source_remove);
    self->draft_timer = g_timeout_add(DRAFT_MS, on_draft_timer, self);
    g_autofree char *text = sundog_composer_dup_text(self->composer);
    sundog_context_meter_set_text(self->meter, text);
}

/* Sending and queueing */

static void
set_queued(SundogConversation *self, const char *text)
{
    g_free(self->chat->queued);
    self->chat->queued = g_strdup(text);
    sundog_composer_set_queued(self->composer, text);
    sundog_chats_save(get_chats(), self->chat);
}

static bool
send_after(SundogConversation *self, const char *text, int64_t parent_id)
{
    if (!sundog_chats_send(get_chats(), self->chat, text, parent_id, get_core(self)))
        return false;
    sundog_message_list_scroll_to_end(self->list);
    g_signal_emit(self, signals[CHAT_CHANGED], 0);
    return true;
}

/* Nothing is sent to nobody; one may have come since, from a terminal. */
static bool
lacks_model(SundogConversation *self)
{
    SundogShelf *shelf = sundog_application_get_shelf(sundog_application_get());
    if (get_core(self) || !sundog_shelf_is_known(shelf))
        return false;
    sundog_shelf_refresh(shelf);
    sundog_window_tell(sundog_window_of(GTK_WIDGET(self)), _("Get a model first"));
    return true;
}

/* A second text that is queued joins the first, since both belong to one turn. */
static void
on_send(SundogConversation *self, const char *text)
{
    if (self->generation) {
        g_autofree char *joined = self->chat->queued
                                      ? g_strconcat(self->chat->queued, "\n\n", text, NULL)
                                      : g_strdup(text);
        set_queued(self, joined);
    } else if (lacks_model(self) || !send_after(self, text, self->chat->head))
        return;
    sundog_composer_set_text(self->composer, "");
    sundog_conversation_save_draft(self);
}

static void
on_unqueue(SundogConversation *self)
{
    g_autofree char *typed = sundog_composer_dup_text(self->composer);
    g_autofree char *text = g_strconcat(self->chat->queued ? self->chat->queued : "",
                                        *typed ? "\n\n" : "", typed, NULL);
    set_queued(self, NULL);
    sundog_composer_set_text(self->composer, text);
    sundog_composer_focus(self->composer);
}

/* An answer that ended well lets the queued text go out; one that did not leaves it to the person. */
static void
continue_queue(SundogChat *chat, const char *core, SundogMessage *last)
{
    bool well =
        last && (last->state == SUNDOG_MESSAGE_DONE || last->state == SUNDOG_MESSAGE_LENGTH);
    if (!chat->queued || !well)
        return;
    g_autofree char *text = g_steal_pointer(&chat->queued);
    sundog_chats_send(get_chats(), chat, text, chat->head, core);
}

static void
on_generation(SundogConversation *self, SundogChat *chat)
{
    if (!sundog_chats_get_generation(get_chats(), chat) && chat->queued) {
        g_autoptr(GPtrArray) messages = sundog_chats_load(get_chats(), chat);
        SundogMessage *last = messages->len ? messages->pdata[messages->len - 1] : NULL;
        SundogShelf *shelf = sundog_application_get_shelf(sundog_application_get());
        continue_queue(chat, sundog_shelf_choose_core(shelf, chat->core), last);
    }
    if (chat != self->chat)
        return;
    reload(self);
    sundog_composer_set_queued(self->composer, chat->queued);
}

static void
on_parameters(SundogConversation *self)
{
    sundog_chats_save(get_chats(), self->chat);
}

/* What messages ask for */

static void
on_edit(SundogConversation *self, SundogMessage *message, const char *text)
{
    sundog_conversation_stop(self);
    send_after(self, text, message->parent_id);
}

static void
on_regenerate(SundogConversation *self, SundogMessage *message)
{
    sundog_conversation_stop(self);
    if (sundog_chats_regenerate(get_chats(), self->chat, message, get_core(self)))
        sundog_message_list_scroll_to_end(self->list);
}

static void
on_switch(SundogConversation *self, SundogMessage *message, int step)
{
    if (sundog_chats_switch_branch(get_chats(), self->chat, message, step))
        reload(self);
}

static void
on_suggestion(SundogConversation *self, const char *text)
{
    sundog_composer_set_text(self->composer, text);
    sundog_composer_focus(self->composer);
}

static void
on_edit_last(SundogConversation *self)
{
    sundog_message_list_edit_last(self->list);
}

static void
on_stop(SundogConversation *self)
{
    sundog_conversation_stop(self);
}

static void
on_found(SundogConversation *self, unsigned index, const char *text)
{
    sundog_message_list_reveal(self->list, index, text);
}

static void
on_context(SundogConversation *self)
{
    sundog_composer_set_context(self->composer, sundog_context_meter_get_used(self->meter),
                                sundog_context_meter_get_total(self->meter));
}

/* Public */

void
sundog_conversation_open(SundogConversation *conversation, SundogChat *chat)
{
    if (chat == conversation->chat)
        return;
    sundog_conversation_save_draft(conversation);
    g_set_object(&conversation->chat, chat);
    sundog_find_bar_close(conversation->find_bar);
    sundog_message_list_set_messages(conversation->list,
                                     g_ptr_array_new_with_free_func(g_object_unref));
    sundog_composer_set_chat(conversation->composer, chat);
    sundog_context_meter_set_chat(conversation->meter, chat);
    sundog_welcome_set_chat(conversation->welcome, chat);
    reload(conversation);
}

SundogChat *
sundog_conversation_get_chat(SundogConversation *conversation)
{
    return conversation->chat;
}

void
sundog_conversation_focus_composer(SundogConversation *conversation)
{
    sundog_composer_focus(conversation->composer);
}

bool
sundog_conversation_stop(SundogConversation *conversation)
{
    bool running = conversation->generation != NULL;
    sundog_chats_stop(get_chats(), conversation->chat);
    return running;
}

void
sundog_conversation_regenerate(SundogConversation *conversation)
{
    SundogMessage *last = get_last_message(conversation);
    if (last && last->role == SUNDOG_ROLE_ASSISTANT)
        on_regenerate(conversation, last);
}

/* The last message that has alternatives is the one whose branch keys change. */
void
sundog_conversation_switch_branch(SundogConversation *conversation, int step)
{
    GPtrArray *messages = get_messages(conversation);
    for (unsigned i = messages->len; i > 0; i--) {
        SundogMessage *message = messages->pdata[i - 1];
        if (message->n_alternatives > 1) {
            on_switch(conversation, message, step);
            return;
        }
    }
}

void
sundog_conversation_copy_answer(SundogConversation *conversation)
{
    GPtrArray *messages = get_messages(conversation);
    for (unsigned i = messages->len; i > 0; i--) {
        SundogMessage *message = messages->pdata[i - 1];
        if (message->role == SUNDOG_ROLE_ASSISTANT) {
            gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(conversation)),
                                   message->content->str);
            return;
        }
    }
}

void
sundog_conversation_find(SundogConversation *conversation)
{
    sundog_find_bar_open(conversation->find_bar, get_messages(conversation));
}

static void
sundog_conversation_dispose(GObject *object)
{
    SundogConversation *self = SUNDOG_CONVERSATION(object);
    g_clear_handle_id(&self->draft_timer, g_source_remove);
    if (self->generation)
        g_clear_signal_handler(&self->generation_handler, self->generation);
    g_clear_object(&self->generation);
    g_clear_object(&self->meter);
    gtk_widget_dispose_template(GTK_WIDGET(self), SUNDOG_TYPE_CONVERSATION);
    g_clear_object(&self->chat);
    G_OBJECT_CLASS(sundog_conversation_parent_class)->dispose(object);
}

static void
sundog_conversation_class_init(SundogConversationClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_conversation_dispose;
    signals[CHAT_CHANGED] = g_signal_new("chat-changed", SUNDOG_TYPE_CONVERSATION,
                                         G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    g_type_ensure(SUNDOG_TYPE_MESSAGE_LIST);
    g_type_ensure(SUNDOG_TYPE_COMPOSER);
    g_type_ensure(SUNDOG_TYPE_WELCOME);
    g_type_ensure(SUNDOG_TYPE_ANNOUNCER);
    g_type_ensure(SUNDOG_TYPE_FIND_BAR);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/conversation.ui");
#define BIND(name) gtk_widget_class_bind_template_child(widget_class, SundogConversation, name)
    BIND(box);
    BIND(find_bar);
    BIND(stack);
    BIND(welcome);
    BIND(list);
    BIND(composer);
    BIND(announcer);
#undef BIND
#define BIND(name) gtk_widget_class_bind_template_callback(widget_class, name)
    BIND(on_send);
    BIND(on_stop);
    BIND(on_edit);
    BIND(on_edit_last);
    BIND(on_regenerate);
    BIND(on_switch);
    BIND(on_suggestion);
    BIND(on_unqueue);
    BIND(on_parameters);
    BIND(on_composer_changed);
    BIND(on_found);
#undef BIND
}

static void
sundog_conversation_init(SundogConversation *self)
{
    SundogApplication *application = sundog_application_get();
    self->meter = sundog_context_meter_new(sundog_application_get_client(application),
                                           sundog_application_get_feed(application),
                                           sundog_application_get_shelf(application));
    g_signal_connect_swapped(self->meter, "changed", G_CALLBACK(on_context), self);
    gtk_widget_init_template(GTK_WIDGET(self));
    g_signal_connect_object(get_chats(), "generation", G_CALLBACK(on_generation), self,
                            G_CONNECT_SWAPPED);
}
