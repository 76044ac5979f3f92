#pragma once

/* Lines that were typed before, oldest first, kept in a file where one is named. */

#include <glib.h>
#include <stdbool.h>

typedef struct SundogLineHistory SundogLineHistory;

SundogLineHistory *sundog_line_history_new(const char *path);
void sundog_line_history_free(SundogLineHistory *history);
unsigned sundog_line_history_get_n_lines(const SundogLineHistory *history);
/* Borrowed until the next add. */
const char *sundog_line_history_get_line(const SundogLineHistory *history, unsigned index);
/* Leaves out empty lines and one that repeats the last; keeps the file as well, best effort. */
void sundog_line_history_add(SundogLineHistory *history, const char *line);
