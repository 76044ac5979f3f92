#pragma once

/* "Start at login": a desktop entry of ours in $XDG_CONFIG_HOME/autostart that starts the app without a
 * window. Whether it is there is the setting; there is no second one. */

#include <glib.h>
#include <stdbool.h>

bool sundog_autostart_is_on(void);
bool sundog_autostart_set(bool on, GError **error);
