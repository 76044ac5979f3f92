#pragma once

/*
 * Reads lines that a person types, with editing and a history; where standard input is no terminal,
 * plain lines. From the first line until free, keys typed between two lines are not shown; the next line
 * begins with them, except that Ctrl+C then is a signal, which drops them. Free gives the terminal its
 * usual mode back, and so does a signal that ends the process (interrupt.h). Main thread; one at a time.
 */

#include <gio/gio.h>

typedef struct SundogLineEditor SundogLineEditor;

/* history: a file (0600) that keeps the last lines from one start to the next, or NULL for none. */
SundogLineEditor *sundog_line_editor_new(const char *history);
void sundog_line_editor_free(SundogLineEditor *editor);

/* One line without its end, owned by the caller; pasted text may hold several. NULL at the end of
 * input, and once cancelled. The prompt is shown on a terminal alone. */
char *sundog_line_editor_read(SundogLineEditor *editor, const char *prompt,
                              GCancellable *cancellable);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogLineEditor, sundog_line_editor_free)
