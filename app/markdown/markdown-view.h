#pragma once

/*
 * Markdown as widgets, one a block, for text that grows: final blocks are made once and never touched
 * again. Growing text is drawn at most once a frame, and less often where parsing its tail is slow, so
 * that any rate of text leaves the window responsive.
 */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_MARKDOWN_VIEW (sundog_markdown_view_get_type())
G_DECLARE_FINAL_TYPE(SundogMarkdownView, sundog_markdown_view, SUNDOG, MARKDOWN_VIEW, GtkWidget)

GtkWidget *sundog_markdown_view_new(void);
/* Shows `text`, which begins with what was shown before; else all is made anew. */
void sundog_markdown_view_set_text(SundogMarkdownView *view, const char *text, size_t n_bytes);
