#pragma once

/* JSON strings written by hand, for chunks of which thousands go out a second. */

#include <glib.h>
#include <stddef.h>

/* Appends text, which is valid UTF-8, quoted and escaped (RFC 8259, 7); a NUL becomes U+FFFD. */
void sundog_json_text_append(GString *json, const char *text);
void sundog_json_text_append_n(GString *json, const char *text, size_t n_bytes);
