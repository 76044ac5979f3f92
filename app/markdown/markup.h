#pragma once

/* Pango markup as text: what block.c writes, parsed and cut. Any thread. */

#include <glib.h>
#include <stdbool.h>

/* The element that stands around all while markup is parsed, since GMarkup wants one. */
#define SUNDOG_MARKUP_ROOT "markup"

/* Hands the markup to a parser; false where it is broken. */
bool sundog_markup_parse(const char *markup, const GMarkupParser *parser, gpointer user_data);
/* The markup of the characters from `start` to before `end` of what is shown, with the tags that are open
 * there; owned by the caller. Broken markup comes back as it is. */
char *sundog_markup_dup_stretch(const char *markup, unsigned start, unsigned end);
