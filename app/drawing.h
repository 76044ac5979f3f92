#pragma once

/* Who draws the windows: the processor, or the graphics card where the preference says so. */

#include <gio/gio.h>

/* Called once, before GTK starts and before there are other threads. GTK's own variable GSK_RENDERER,
 * where a person has set it, stands above the preference. */
void sundog_drawing_choose(GSettings *settings);
