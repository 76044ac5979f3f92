/* A few entries; the chat keeps them as the JSON that a request carries. */

#include "app/conversation/parameters.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define N_FIELDS 4

struct _SundogParameters {
    GtkWidget parent_instance;
    GtkWidget *box;
    GtkTextBuffer *instructions;
    GtkEditable *temperature;
    GtkEditable *top_p;
    GtkEditable *max_tokens;
    GtkEditable *seed;
    SundogChat *chat;
    bool loading;
};

static const struct {
    const char *name;
    double least, most;
    bool whole;
} fields[N_FIELDS] = {
    {"temperature", 0, 5, false},
    {"top_p", 0, 1, false},
    {"max_completion_tokens", 1, 1e6, true},
    {"seed", 0, 9007199254740991.0, true},
};

enum { CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogParameters, sundog_parameters, GTK_TYPE_WIDGET)

static GtkEditable *
get_entry(SundogParameters *self, int field)
{
    GtkEditable *const entries[N_FIELDS] = {self->temperature, self->top_p, self->max_tokens,
                                            self->seed};
    return entries[field];
}

/* A decimal comma is understood as well. */
static bool
read_number(const char *text, int field, double *value)
{
    g_autofree char *plain = g_strdelimit(g_strstrip(g_strdup(text)), ",", '.');
    char *end;
    *value = g_ascii_strtod(plain, &end);
    return *plain && !*end && isfinite(*value) && *value >= fields[field].least &&
           *value <= fields[field].most && (!fields[field].whole || *value == floor(*value));
}

static void
add_field(SundogParameters *self, int field, JsonObject *object)
{
    GtkWidget *entry = GTK_WIDGET(get_entry(self, field));
    const char *text = gtk_editable_get_text(GTK_EDITABLE(entry));
    double value;
    if (read_number(text, field, &value)) {
        if (fields[field].whole)
            json_object_set_int_member(object, fields[field].name, (gint64)value);
        else
            json_object_set_double_member(object, fields[field].name, value);
        gtk_widget_remove_css_class(entry, "error");
    } else if (*text)
        gtk_widget_add_css_class(entry, "error");
    else
        gtk_widget_remove_css_class(entry, "error");
}

static void
store_parameters(SundogParameters *self)
{
    g_autoptr(JsonObject) object = json_object_new();
    for (int i = 0; i < N_FIELDS; i++)
        add_field(self, i, object);
    g_clear_pointer(&self->chat->parameters, g_free);
    if (json_object_get_size(object) == 0)
        return;
    g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
    self->chat->parameters = sundog_json_print(node, false);
}

static void
store_instructions(SundogParameters *self)
{
    GtkTextIter start, end;
    gtk_text_buffer_get_bounds(self->instructions, &start, &end);
    g_autofree char *text =
        g_strstrip(gtk_text_buffer_get_text(self->instructions, &start, &end, FALSE));
    g_free(self->chat->instructions);
    self->chat->instructions = *text ? g_strdup(text) : NULL;
}

static void
on_changed(SundogParameters *self)
{
    if (self->loading || !self->chat)
        return;
    store_parameters(self);
    store_instructions(self);
    g_signal_emit(self, signals[CHANGED], 0);
}

static char *
dup_field(JsonObject *object, int field)
{
    double value = sundog_json_get_number(object, fields[field].name, NAN);
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (isnan(value))
        return g_strdup("");
    return g_strdup(g_ascii_formatd(text, sizeof text, fields[field].whole ? "%.0f" : "%g", value));
}

void
sundog_parameters_set_chat(SundogParameters *parameters, SundogChat *chat)
{
    const char *text = chat->parameters;
    g_autoptr(JsonNode) root = text ? sundog_json_parse(text, strlen(text), NULL) : NULL;
    JsonObject *object = root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
    parameters->loading = true;
    g_set_object(&parameters->chat, chat);
    gtk_text_buffer_set_text(parameters->instructions, chat->instructions ? chat->instructions : "",
                             -1);
    for (int i = 0; i < N_FIELDS; i++) {
        g_autofree char *value = dup_field(object, i);
        gtk_editable_set_text(get_entry(parameters, i), value);
        gtk_widget_remove_css_class(GTK_WIDGET(get_entry(parameters, i)), "error");
    }
    parameters->loading = false;
}

static void
sundog_parameters_dispose(GObject *object)
{
    gtk_widget_dispose_template(GTK_WIDGET(object), SUNDOG_TYPE_PARAMETERS);
    g_clear_object(&SUNDOG_PARAMETERS(object)->chat);
    G_OBJECT_CLASS(sundog_parameters_parent_class)->dispose(object);
}

static void
sundog_parameters_class_init(SundogParametersClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_parameters_dispose;
    signals[CHANGED] = g_signal_new("changed", SUNDOG_TYPE_PARAMETERS, G_SIGNAL_RUN_LAST, 0, NULL,
                                    NULL, NULL, G_TYPE_NONE, 0);
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/parameters.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogParameters, box);
    gtk_widget_class_bind_template_child(widget_class, SundogParameters, instructions);
    gtk_widget_class_bind_template_child(widget_class, SundogParameters, temperature);
    gtk_widget_class_bind_template_child(widget_class, SundogParameters, top_p);
    gtk_widget_class_bind_template_child(widget_class, SundogParameters, max_tokens);
    gtk_widget_class_bind_template_child(widget_class, SundogParameters, seed);
    gtk_widget_class_bind_template_callback(widget_class, on_changed);
}

static void
sundog_parameters_init(SundogParameters *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
}
