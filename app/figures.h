#pragma once

/* Numbers in a person's words: bytes, times, rates, and the figures of an answer. Strings are owned by
 * the caller. Any thread. */

#include "app/conversation/message.h"

/* "1.4 GB", "940 kB": decimal units, as disks are sold. */
char *sundog_figures_dup_bytes(double n_bytes);
/* "135 million", "1.7 billion" parameters. */
char *sundog_figures_dup_count(double n);
/* "about 3 minutes left". */
char *sundog_figures_dup_time_left(double seconds);
/* Grouped digits: "8,192". */
char *sundog_figures_dup_number(double n);
/* "38.2 tokens/s" of an answer's statistics, or NULL where they say nothing. */
char *sundog_figures_dup_summary(const char *statistics);
/* A line for each figure of an answer that is known, or NULL. */
char *sundog_figures_dup_details(SundogMessage *message);
