/* The list of chats, kept in order, and a table of running answers by chat. */

#include "app/chats/chats.h"
#include <glib/gi18n.h>
#include <string.h>

#define FLUSH_MS 1000

struct _SundogChats {
    GObject parent_instance;
    SundogChatStore *store;
    SundogClient *client;
    GListStore *list;
    GHashTable *generations; /* SundogChat * -> SundogGeneration, both owned */
    GHashTable *unsaved;     /* SundogMessage *, text came since the last flush */
    unsigned flush_timer;
};

enum { GENERATION, PROBLEM, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogChats, sundog_chats, G_TYPE_OBJECT)

static void
report(SundogChats *self, GError *error)
{
    if (!error)
        return;
    g_autofree char *text = g_strdup_printf(_("This chat could not be saved: %s"), error->message);
    g_signal_emit(self, signals[PROBLEM], 0, text);
    g_error_free(error);
}

static int
compare_chats(gconstpointer a, gconstpointer b, gpointer user_data)
{
    const SundogChat *x = a, *y = b;
    if (x->pinned != y->pinned)
        return x->pinned ? -1 : 1;
    if (x->updated_us != y->updated_us)
        return x->updated_us > y->updated_us ? -1 : 1;
    return x->id > y->id ? -1 : 1;
}

/* Puts a chat where it belongs now; one that already stands there is not moved, so that its row keeps
 * the focus. */
static void
place(SundogChats *self, SundogChat *chat)
{
    guint at;
    if (g_list_store_find(self->list, chat, &at)) {
        g_autoptr(SundogChat) before =
            at > 0 ? g_list_model_get_item(G_LIST_MODEL(self->list), at - 1) : NULL;
        g_autoptr(SundogChat) after = g_list_model_get_item(G_LIST_MODEL(self->list), at + 1);
        bool fits = (!before || compare_chats(before, chat, NULL) < 0) &&
                    (!after || compare_chats(chat, after, NULL) < 0);
        if (fits) {
            sundog_chat_changed(chat);
            return;
        }
        g_object_ref(chat);
        g_list_store_remove(self->list, at);
        g_list_store_insert_sorted(self->list, chat, compare_chats, NULL);
        g_object_unref(chat);
    } else
        g_list_store_insert_sorted(self->list, chat, compare_chats, NULL);
    sundog_chat_changed(chat);
}

static void
flush(SundogChats *self)
{
    GHashTableIter iter;
    gpointer message;
    g_hash_table_iter_init(&iter, self->unsaved);
    while (g_hash_table_iter_next(&iter, &message, NULL)) {
        GError *error = NULL;
        sundog_chat_store_save_message(self->store, message, &error);
        report(self, error);
    }
    g_hash_table_remove_all(self->unsaved);
}

static gboolean
on_flush(gpointer user_data)
{
    SundogChats *self = user_data;
    self->flush_timer = 0;
    flush(self);
    return G_SOURCE_REMOVE;
}

static void
on_answer_changed(SundogChats *self, SundogMessage *answer)
{
    g_hash_table_add(self->unsaved, g_object_ref(answer));
    if (!self->flush_timer)
        self->flush_timer = g_timeout_add(FLUSH_MS, on_flush, self);
}

static void
on_generation_ended(SundogChats *self, SundogGeneration *generation)
{
    g_autoptr(SundogGeneration) keep = g_object_ref(generation);
    g_autoptr(SundogChat) chat = g_object_ref(sundog_generation_get_chat(generation));
    SundogMessage *answer = sundog_generation_get_answer(generation);
    g_signal_handlers_disconnect_by_data(answer, self);
    g_hash_table_add(self->unsaved, g_object_ref(answer));
    flush(self);
    chat->running = false;
    g_hash_table_remove(self->generations, chat);
    sundog_chat_changed(chat);
    g_signal_emit(self, signals[GENERATION], 0, chat);
}

/* Begins an answer after the last of `messages`. */
static bool
generate(SundogChats *self, SundogChat *chat, GPtrArray *messages, const char *core)
{
    GError *error = NULL;
    SundogMessage *last = messages->pdata[messages->len - 1];
    g_autoptr(SundogMessage) answer = sundog_message_new(SUNDOG_ROLE_ASSISTANT, NULL);
    answer->state = SUNDOG_MESSAGE_STREAMING;
    if (!sundog_chat_store_add_message(self->store, chat, answer, last->id, &error)) {
        report(self, error);
        return false;
    }
    SundogGeneration *generation =
        sundog_generation_new(self->client, chat, messages, answer, core);
    g_hash_table_insert(self->generations, g_object_ref(chat), generation);
    g_signal_connect_object(answer, "changed", G_CALLBACK(on_answer_changed), self,
                            G_CONNECT_SWAPPED);
    g_signal_connect_object(generation, "ended", G_CALLBACK(on_generation_ended), self,
                            G_CONNECT_SWAPPED);
    chat->running = true;
    place(self, chat);
    sundog_generation_start(generation);
    g_signal_emit(self, signals[GENERATION], 0, chat);
    return true;
}

bool
sundog_chats_send(SundogChats *chats, SundogChat *chat, const char *text, int64_t parent_id,
                  const char *core)
{
    GError *error = NULL;
    if (sundog_chats_get_generation(chats, chat))
        return false;
    if (!*chat->title) {
        g_free(chat->title);
        chat->title = sundog_chat_dup_title_from(text);
    }
    g_autoptr(SundogMessage) question = sundog_message_new(SUNDOG_ROLE_USER, text);
    if (!sundog_chat_store_add_message(chats->store, chat, question, parent_id, &error)) {
        report(chats, error);
        return false;
    }
    g_autoptr(GPtrArray) messages = sundog_chats_load(chats, chat);
    return messages->len > 0 && generate(chats, chat, messages, core);
}

bool
sundog_chats_regenerate(SundogChats *chats, SundogChat *chat, SundogMessage *answer,
                        const char *core)
{
    if (sundog_chats_get_generation(chats, chat))
        return false;
    int64_t head = chat->head;
    chat->head = answer->parent_id;
    g_autoptr(GPtrArray) messages = sundog_chats_load(chats, chat);
    chat->head = head;
    return messages->len > 0 && generate(chats, chat, messages, core);
}

void
sundog_chats_stop(SundogChats *chats, SundogChat *chat)
{
    SundogGeneration *generation = sundog_chats_get_generation(chats, chat);
    if (generation)
        sundog_generation_stop(generation);
}

bool
sundog_chats_switch_branch(SundogChats *chats, SundogChat *chat, SundogMessage *message, int step)
{
    GError *error = NULL;
    if (sundog_chats_get_generation(chats, chat))
        return false;
    bool switched = sundog_chat_store_switch_branch(chats->store, chat, message, step, &error);
    report(chats, error);
    return switched;
}

GListModel *
sundog_chats_get_list(SundogChats *chats)
{
    return G_LIST_MODEL(chats->list);
}

SundogChat *
sundog_chats_find(SundogChats *chats, int64_t id)
{
    for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(chats->list)); i++) {
        g_autoptr(SundogChat) chat = g_list_model_get_item(G_LIST_MODEL(chats->list), i);
        if (chat->id == id)
            return chat;
    }
    return NULL;
}

GPtrArray *
sundog_chats_load(SundogChats *chats, SundogChat *chat)
{
    GError *error = NULL;
    GPtrArray *messages =
        chat->id ? sundog_chat_store_load_messages(chats->store, chat, &error) : NULL;
    report(chats, error);
    if (!messages)
        return g_ptr_array_new_with_free_func(g_object_unref);
    SundogGeneration *generation = sundog_chats_get_generation(chats, chat);
    SundogMessage *answer = generation ? sundog_generation_get_answer(generation) : NULL;
    for (unsigned i = 0; answer && i < messages->len; i++)
        if (((SundogMessage *)messages->pdata[i])->id == answer->id) {
            g_object_unref(messages->pdata[i]);
            messages->pdata[i] = g_object_ref(answer);
        }
    return messages;
}

SundogGeneration *
sundog_chats_get_generation(SundogChats *chats, SundogChat *chat)
{
    return g_hash_table_lookup(chats->generations, chat);
}

bool
sundog_chats_is_any_running(SundogChats *chats)
{
    return g_hash_table_size(chats->generations) > 0;
}

static bool
is_empty(const char *text)
{
    return !text || !*text;
}

void
sundog_chats_save(SundogChats *chats, SundogChat *chat)
{
    GError *error = NULL;
    bool new = chat->id == 0;
    if (new &&is_empty(chat->draft) && is_empty(chat->queued))
        return;
    if (!sundog_chat_store_save_chat(chats->store, chat, &error))
        report(chats, error);
    else if (new)
        place(chats, chat);
}

void
sundog_chats_rename(SundogChats *chats, SundogChat *chat, const char *title)
{
    g_free(chat->title);
    chat->title = g_strdup(title);
    g_strstrip(chat->title);
    sundog_chats_save(chats, chat);
    sundog_chat_changed(chat);
}

void
sundog_chats_set_pinned(SundogChats *chats, SundogChat *chat, bool pinned)
{
    chat->pinned = pinned;
    sundog_chats_save(chats, chat);
    place(chats, chat);
}

void
sundog_chats_delete(SundogChats *chats, SundogChat *chat)
{
    GError *error = NULL;
    guint at;
    sundog_chats_stop(chats, chat);
    if (chat->id && !sundog_chat_store_set_deleted(chats->store, chat, true, &error)) {
        report(chats, error);
        return;
    }
    if (g_list_store_find(chats->list, chat, &at))
        g_list_store_remove(chats->list, at);
}

void
sundog_chats_undelete(SundogChats *chats, SundogChat *chat)
{
    GError *error = NULL;
    if (!sundog_chat_store_set_deleted(chats->store, chat, false, &error)) {
        report(chats, error);
        return;
    }
    place(chats, chat);
}

void
sundog_chats_purge(SundogChats *chats)
{
    GError *error = NULL;
    sundog_chat_store_purge(chats->store, &error);
    report(chats, error);
}

GHashTable *
sundog_chats_search(SundogChats *chats, const char *text)
{
    return sundog_chat_store_search(chats->store, text, NULL);
}

void
sundog_chats_retry(SundogChats *chats)
{
    g_autoptr(GList) generations = g_hash_table_get_values(chats->generations);
    for (GList *l = generations; l; l = l->next)
        sundog_generation_retry(l->data);
}

void
sundog_chats_fail(SundogChats *chats, const char *problem, const char *details)
{
    g_autoptr(GList) generations = g_hash_table_get_values(chats->generations);
    for (GList *l = generations; l; l = l->next)
        if (sundog_generation_get_phase(l->data) < SUNDOG_PHASE_WRITING)
            sundog_generation_fail(l->data, problem, details);
}

static void
sundog_chats_dispose(GObject *object)
{
    SundogChats *self = SUNDOG_CHATS(object);
    g_clear_handle_id(&self->flush_timer, g_source_remove);
    if (self->store)
        flush(self);
    g_hash_table_remove_all(self->generations);
    g_clear_pointer(&self->store, sundog_chat_store_free);
    G_OBJECT_CLASS(sundog_chats_parent_class)->dispose(object);
}

static void
sundog_chats_finalize(GObject *object)
{
    SundogChats *self = SUNDOG_CHATS(object);
    g_hash_table_unref(self->generations);
    g_hash_table_unref(self->unsaved);
    g_object_unref(self->list);
    g_object_unref(self->client);
    G_OBJECT_CLASS(sundog_chats_parent_class)->finalize(object);
}

static void
sundog_chats_class_init(SundogChatsClass *class)
{
    G_OBJECT_CLASS(class)->dispose = sundog_chats_dispose;
    G_OBJECT_CLASS(class)->finalize = sundog_chats_finalize;
    signals[GENERATION] = g_signal_new("generation", SUNDOG_TYPE_CHATS, G_SIGNAL_RUN_LAST, 0, NULL,
                                       NULL, NULL, G_TYPE_NONE, 1, SUNDOG_TYPE_CHAT);
    signals[PROBLEM] = g_signal_new("problem", SUNDOG_TYPE_CHATS, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                    NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void
sundog_chats_init(SundogChats *self)
{
    self->list = g_list_store_new(SUNDOG_TYPE_CHAT);
    self->generations = g_hash_table_new_full(NULL, NULL, g_object_unref, g_object_unref);
    self->unsaved = g_hash_table_new_full(NULL, NULL, g_object_unref, NULL);
}

SundogChats *
sundog_chats_new(SundogChatStore *store, SundogClient *client)
{
    SundogChats *self = g_object_new(SUNDOG_TYPE_CHATS, NULL);
    self->store = store;
    self->client = g_object_ref(client);
    g_autoptr(GPtrArray) list = sundog_chat_store_list_chats(store, NULL);
    if (list && list->len > 0)
        g_list_store_splice(self->list, 0, 0, list->pdata, list->len);
    return self;
}
