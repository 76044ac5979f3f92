/* A menu button over the shelf's cores. */

#include "app/conversation/model-switcher.h"
#include "app/application.h"
#include "app/figures.h"
#include "engine/format/json-members.h"
#include <glib/gi18n.h>
#include <string.h>

struct _SundogModelSwitcher {
    GtkWidget parent_instance;
    GtkMenuButton *button;
    GtkLabel *name;
    GtkImage *device;
    GtkWidget *dot;
    GtkPopover *popover;
    GtkListBox *list;
    SundogChat *chat;
    bool narrow;
};

G_DEFINE_FINAL_TYPE(SundogModelSwitcher, sundog_model_switcher, GTK_TYPE_WIDGET)

static SundogShelf *
get_shelf(void)
{
    return sundog_application_get_shelf(sundog_application_get());
}

static SundogServerFeed *
get_feed(void)
{
    return sundog_application_get_feed(sundog_application_get());
}

/* "148 MB · context 8,192 · 480 tokens/s", of what is known. */
static char *
dup_facts(JsonObject *core)
{
    GString *text = g_string_new(NULL);
    g_autofree char *size = sundog_figures_dup_bytes(sundog_json_get_number(core, "bytes", 0));
    g_string_append(text, size);
    double context = sundog_json_get_number(core, "context_length", 0);
    if (context > 0) {
        g_autofree char *number = sundog_figures_dup_number(context);
        g_autofree char *part = g_strdup_printf(_("context %s"), number);
        g_string_append_printf(text, " · %s", part);
    }
    double speed = sundog_json_get_number(sundog_json_get_object(core, "speed"),
                                          "decode_tokens_per_second", 0);
    if (speed > 0) {
        g_autofree char *part = g_strdup_printf(_("%.0f tokens/s"), speed);
        g_string_append_printf(text, " · %s", part);
    }
    return g_string_free(text, FALSE);
}

static GtkWidget *
make_row(SundogModelSwitcher *self, JsonObject *core, bool chosen)
{
    g_autofree char *facts = dup_facts(core);
    const char *name = sundog_json_get_string(core, "name", "");
    GtkWidget *row = gtk_list_box_row_new();
    GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
    GtkWidget *texts = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    GtkWidget *title = gtk_label_new(sundog_shelf_get_title(get_shelf(), core));
    GtkWidget *below = gtk_label_new(facts);
    GtkWidget *check = gtk_image_new_from_icon_name("sundog-check-symbolic");
    gtk_label_set_xalign(GTK_LABEL(title), 0);
    gtk_label_set_xalign(GTK_LABEL(below), 0);
    gtk_widget_add_css_class(title, "name");
    gtk_widget_add_css_class(below, "dim");
    gtk_widget_add_css_class(below, "small");
    gtk_widget_set_hexpand(texts, TRUE);
    gtk_widget_set_opacity(check, chosen ? 1 : 0);
    gtk_widget_add_css_class(check, "accent");
    gtk_box_append(GTK_BOX(texts), title);
    gtk_box_append(GTK_BOX(texts), below);
    gtk_box_append(GTK_BOX(line), texts);
    gtk_box_append(GTK_BOX(line), check);
    gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(row), line);
    g_object_set_data_full(G_OBJECT(row), "core", g_strdup(name), g_free);
    gtk_accessible_update_property(GTK_ACCESSIBLE(row), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   sundog_shelf_get_title(get_shelf(), core),
                                   GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, facts, -1);
    return row;
}

/* The core whose row has the keyboard's focus, or NULL; owned by the caller. */
static char *
dup_focused(SundogModelSwitcher *self)
{
    GtkWidget *row = gtk_widget_get_focus_child(GTK_WIDGET(self->list));
    return row ? g_strdup(g_object_get_data(G_OBJECT(row), "core")) : NULL;
}

static void
fill_list(SundogModelSwitcher *self, const char *chosen)
{
    JsonArray *cores = sundog_shelf_get_cores(get_shelf());
    g_autofree char *focused = dup_focused(self);
    GtkWidget *row;
    while ((row = gtk_widget_get_first_child(GTK_WIDGET(self->list))) != NULL)
        gtk_list_box_remove(self->list, row);
    for (unsigned i = 0; cores && i < json_array_get_length(cores); i++) {
        JsonObject *core = sundog_json_get_element(cores, i);
        const char *name = sundog_json_get_string(core, "name", "");
        if (!core || !sundog_shelf_is_for_chats(core))
            continue;
        row = make_row(self, core, g_strcmp0(name, chosen) == 0);
        gtk_list_box_append(self->list, row);
        if (g_strcmp0(name, focused) == 0)
            gtk_widget_grab_focus(row);
    }
}

static const char *
get_dot_class(const char *chosen)
{
    JsonObject *engine = sundog_server_feed_find_engine(get_feed(), chosen);
    const char *state = sundog_json_get_string(engine, "state", "none");
    if (!engine)
        return NULL;
    return strcmp(state, "ready") == 0 ? "good" : strcmp(state, "failed") == 0 ? "bad" : "busy";
}

static void
update_dot(SundogModelSwitcher *self, const char *chosen)
{
    static const char *const classes[] = {"good", "busy", "bad"};
    static const char *const names[] = {N_("Loaded"), N_("Loading"), N_("Failed")};
    const char *class = get_dot_class(chosen);
    const char *name = _("Not loaded");
    for (unsigned i = 0; i < G_N_ELEMENTS(classes); i++)
        if (class && strcmp(classes[i], class) == 0) {
            gtk_widget_add_css_class(self->dot, class);
            name = _(names[i]);
        } else
            gtk_widget_remove_css_class(self->dot, classes[i]);
    gtk_widget_set_tooltip_text(self->dot, name);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self->button),
                                   GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, name, -1);
}

static void
update(SundogModelSwitcher *self)
{
    const char *chosen =
        sundog_shelf_choose_core(get_shelf(), self->chat ? self->chat->core : NULL);
    JsonObject *core = sundog_shelf_find_core(get_shelf(), chosen);
    const char *title = core     ? sundog_shelf_get_title(get_shelf(), core)
                        : chosen ? chosen
                                 : _("No model");
    const char *target = sundog_json_get_string(core, "target", "host");
    gtk_label_set_text(self->name, title);
    gtk_widget_set_visible(GTK_WIDGET(self->device), core != NULL && !self->narrow);
    gtk_widget_set_visible(self->dot, core != NULL);
    gtk_image_set_from_icon_name(self->device, "sundog-chip-symbolic");
    gtk_widget_set_tooltip_text(GTK_WIDGET(self->device), strcmp(target, "host") == 0
                                                              ? _("Runs on the processor")
                                                              : _("Runs on the GPU"));
    g_autofree char *label = g_strdup_printf(_("Model: %s"), title);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self->button), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   label, -1);
    update_dot(self, chosen);
    fill_list(self, chosen);
}

void
sundog_model_switcher_set_chat(SundogModelSwitcher *switcher, SundogChat *chat)
{
    g_set_object(&switcher->chat, chat);
    update(switcher);
}

void
sundog_model_switcher_set_narrow(SundogModelSwitcher *switcher, bool narrow)
{
    switcher->narrow = narrow;
    update(switcher);
}

static void
on_loaded(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(JsonNode) answer = sundog_client_call_finish(SUNDOG_CLIENT(source), result, NULL);
}

static void
on_row_activated(GtkListBox *list, GtkListBoxRow *row, SundogModelSwitcher *self)
{
    SundogApplication *application = sundog_application_get();
    const char *name = g_object_get_data(G_OBJECT(row), "core");
    g_free(self->chat->core);
    self->chat->core = g_strdup(name);
    if (self->chat->id)
        sundog_chats_save(sundog_application_get_chats(application), self->chat);
    g_autoptr(JsonObject) object = json_object_new();
    json_object_set_string_member(object, "core", name);
    g_autoptr(JsonNode) body = json_node_init_object(json_node_alloc(), object);
    sundog_client_call_async(sundog_application_get_client(application), "POST", "/sundog/v1/load",
                             body, NULL, on_loaded, NULL);
    gtk_popover_popdown(self->popover);
    update(self);
}

static void
on_more(GtkButton *button, SundogModelSwitcher *self)
{
    gtk_popover_popdown(self->popover);
    gtk_widget_activate_action(GTK_WIDGET(self), "win.page", "s", "library");
}

static void
sundog_model_switcher_dispose(GObject *object)
{
    gtk_widget_dispose_template(GTK_WIDGET(object), SUNDOG_TYPE_MODEL_SWITCHER);
    g_clear_object(&SUNDOG_MODEL_SWITCHER(object)->chat);
    G_OBJECT_CLASS(sundog_model_switcher_parent_class)->dispose(object);
}

static void
sundog_model_switcher_class_init(SundogModelSwitcherClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_model_switcher_dispose;
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_template_from_resource(widget_class,
                                                "/org/sundog/Sundog/model-switcher.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogModelSwitcher, button);
    gtk_widget_class_bind_template_child(widget_class, SundogModelSwitcher, name);
    gtk_widget_class_bind_template_child(widget_class, SundogModelSwitcher, device);
    gtk_widget_class_bind_template_child(widget_class, SundogModelSwitcher, dot);
    gtk_widget_class_bind_template_child(widget_class, SundogModelSwitcher, popover);
    gtk_widget_class_bind_template_child(widget_class, SundogModelSwitcher, list);
    gtk_widget_class_bind_template_callback(widget_class, on_row_activated);
    gtk_widget_class_bind_template_callback(widget_class, on_more);
}

static void
sundog_model_switcher_init(SundogModelSwitcher *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
    g_signal_connect_object(get_shelf(), "changed", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
    g_signal_connect_object(get_feed(), "state", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
    update(self);
}
