#pragma once

/*
 * What commands say to a person: answers on standard output, everything else on standard error, and
 * progress only where a person looks. Main thread.
 */

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A line on standard error that says what went wrong and what to do; under --json also the object
 * {"error": {"message"}} on standard output. */
void sundog_terminal_error(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* The same with an error's own text. Returns the exit status of a failure. */
int sundog_terminal_fail(const GError *error);
/* A line on standard error, left out under --json. */
void sundog_terminal_note(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Prints an object in one line on standard output, at once. Takes the object. */
void sundog_terminal_print_json(JsonObject *object);
/* "98.4 MB"; owned by the caller. */
char *sundog_terminal_dup_size(uint64_t n_bytes);

/* Progress: under --json a line {"phase", "fraction"} on standard output where a percent has passed;
 * on a terminal one line that is written over; else nothing. what is for a person, phase for a
 * program. */
void sundog_terminal_progress(const char *phase, const char *what, double fraction);
/* Ends the line that progress wrote over. */
void sundog_terminal_progress_end(void);

/* Asks a question that wants "y"; anything else, and the end of input, is no. */
bool sundog_terminal_confirm(const char *format, ...) G_GNUC_PRINTF(1, 2);
