#pragma once

/* The app's preferences: a GSettings of data/org.sundog.Sundog.gschema.xml, kept in
 * $XDG_CONFIG_HOME/sundog/desktop.ini, written beside and renamed. A file of its own, since without
 * dconf's service GSettings would forget everything at the end. */

#include <gio/gio.h>

/* Owned by the caller; NULL with an error where the schema is not installed. */
GSettings *sundog_settings_new(GError **error);
