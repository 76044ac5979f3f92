#pragma once

/*
 * Sidebar and content side by side; under 720 pixels the sidebar lies over the content with a shade
 * behind it, and folds by itself. Children in a template: type="sidebar" and type="content".
 *
 * Properties: "shown" (the sidebar is visible now), "docked" (whether it is wanted beside the content;
 * remembered while the window is narrow), "narrow" (read only).
 */

#include <gtk/gtk.h>
#include <stdbool.h>

#define SUNDOG_TYPE_SPLIT (sundog_split_get_type())
G_DECLARE_FINAL_TYPE(SundogSplit, sundog_split, SUNDOG, SPLIT, GtkWidget)

void sundog_split_toggle(SundogSplit *split);
/* Folds the sidebar where it lies over the content; called when something was chosen in it. */
void sundog_split_fold(SundogSplit *split);
bool sundog_split_is_narrow(SundogSplit *split);
